// test/c/types - datatypes of a test, from the engine's; freed when it ends.
#pragma once
#include "ranks.hpp"

namespace mpt::c::test {

class types {
    std::vector<MPI_Datatype> made_;

public:
    types() = default;
    types(types const&) = delete;
    ~types() {
        for (auto const h : made_)
            if (auto* const t = here().datatypes.remove(word_of(h))) t->let_go();
    }
    MPI_Datatype operator()(datatype t, bool committed = true) {
        auto made = ref<datatype_object>::adopt(new datatype_object{std::move(t)});
        made->committed = committed;
        auto* const kept = made.get();
        return made_.emplace_back(kept->handle = binding::publish<MPI_Datatype>(here().datatypes, std::move(made)));
    }
};

} // namespace mpt::c::test
