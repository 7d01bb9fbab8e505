// What an error must be: its class for MPI, and words that its sentence holds.
#pragma once
#include <initializer_list>
#include <string>

#include <gtest/gtest.h>
#include <mpt/mpi/error_classes.hpp>

namespace mpt::test {

template <class F> void expect_error(std::int32_t code, std::initializer_list<char const*> words, F&& f) {
    try {
        f();
        ADD_FAILURE() << "nothing was thrown";
    } catch (error const& e) {
        EXPECT_EQ(mpi_code_of(e), code) << e.what();
        for (auto const* w : words)
            EXPECT_NE(std::string{e.what()}.find(w), std::string::npos) << "no \"" << w << "\" in: " << e.what();
    }
}
template <class F> void expect_error(error_class which, std::initializer_list<char const*> words, F&& f) {
    expect_error(static_cast<std::int32_t>(which), words, f);
}

} // namespace mpt::test
