// mptrun [options] program [arguments...]: starts the ranks of a job on this node, waits for them, passes their end on.
#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include "supervisor.hpp"

#include <mpt/core/error.hpp>
#include <mpt/core/version.hpp>

namespace {
int run(int argc, char** argv) {
    auto const options = mptrun::parse(argc, argv);
    if (options.help) return std::fputs(mptrun::help_text().data(), stdout) < 0;
    if (options.version) return std::puts(("mptrun (mpt) " + mpt::to_string(mpt::header_version)).c_str()) < 0;
    for (auto const& note : options.notes) fmt::print(stderr, "mptrun: {} means nothing here and is ignored.\n", note);
    return mptrun::supervisor{options}.run();
}
} // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (mptrun::usage_error const& e) {
        fmt::print(stderr, "mptrun: {}\n", e.what());
        return 127;
    } catch (mpt::error const& e) {
        fmt::print(stderr, "{}\n", e.what());
        return 1;
    } catch (std::exception const& e) {
        fmt::print(stderr, "mptrun: {}\n", e.what());
        return 1;
    }
}
