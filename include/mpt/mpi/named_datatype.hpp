/// mpi/named_datatype - a datatype with a name and attributes: an object, where a datatype is a value.
///
///        mpt::named_datatype column{mpt::datatype::vector(10, 1, 12, number), "column"};
///        column.attributes().set(key, plan);                          keys of datatype_keys(), mpi/caching.hpp
///        world.send(mpt::typed_source{matrix, 1, column}, 1);         wherever a datatype is taken
///        auto other = column.dup();                                   what copy callbacks give, and no name
///
///   Callbacks get the address of the datatype. A predefined one begins with the standard's name.
///   Cost    one allocation.    Tests  test/mpi_named_datatype_test.cpp    Source MPI-4.1 sections 7.7.4 and 7.8
#pragma once
#include <memory>
#include <string>
#include <utility>

#include <mpt/datatype/datatype.hpp>
#include <mpt/mpi/attributes.hpp>
#include <mpt/mpi/caching.hpp>

namespace mpt::inline v0 {

class named_datatype {
    struct object {
        datatype type;
        std::string name;
        cached attached{datatype_keys(), &type};
    };
    std::unique_ptr<object> it_; // its address is the callbacks'

public:
    explicit named_datatype(datatype const& type) : named_datatype{type, std::string{first_name(type)}} {}
    named_datatype(datatype type, std::string name) : it_{new object{std::move(type), std::move(name)}} {}

    operator datatype const&() const noexcept { return it_->type; }
    datatype const& type() const noexcept { return it_->type; }
    std::string const& name() const noexcept { return it_->name; }
    void set_name(std::string name) { it_->name = std::move(name); }
    cached& attributes() noexcept { return it_->attached; }

    named_datatype dup() const {
        named_datatype copy{datatype::dup(it_->type), {}};
        it_->attached.copy_to(copy.it_->attached);
        return copy;
    }

private:
    static std::string_view first_name(datatype const& t) noexcept {
        return t.is_predefined() ? facts(t.element()).name : std::string_view{};
    }
};

} // namespace mpt::inline v0
