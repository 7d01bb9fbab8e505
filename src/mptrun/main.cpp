// mptrun [options] program [arguments...]: starts the ranks of a job on this node, waits for them, passes their end on.
#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include "binding.hpp"
#include "image.hpp"
#include "options.hpp"
#include "pages.hpp"
#include "supervisor.hpp"

#include <mpt/core/error.hpp>
#include <mpt/core/version.hpp>

namespace {

int show(std::string const& text) { return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0; }

/// One line for all of them.
void tell_notes(std::vector<std::string> const& notes) {
    if (notes.empty()) return;
    fmt::print(stderr, "mptrun: {} {} nothing here and {} ignored.\n", fmt::join(notes, ", "),
               notes.size() == 1 ? "means" : "mean", notes.size() == 1 ? "is" : "are");
}

int run(std::vector<std::string> const& words) {
    auto options = mptrun::parse(words, mptrun::this_process());
    if (options.help) return show(mptrun::help_text());
    if (options.markdown) return show(mptrun::markdown());
    if (options.version) return show("mptrun (mpt) " + mpt::to_string(mpt::header_version) + '\n');
    auto const places = mptrun::bind_ranks(options);
    mptrun::images const what{options, places};
    tell_notes(options.notes);
    if (mptrun::asks_for_pages(options))
        if (auto const line = check_pages(options, mpt::mem::look_around({}, {})); !line.empty())
            fmt::print(stderr, "mptrun: {}\n", line);
    if (options.dry_run) return show(mptrun::dry_run(options, what, places));
    if (options.report_bindings) fmt::print(stderr, "{}", mptrun::binding_report(places, options.ranks));
    fmt::print(stderr, "{}", mptrun::debugger_lines(options, what));
    return mptrun::supervisor{options, what}.run();
}
} // namespace

int main(int argc, char** argv) {
    try {
        return run({argv + 1, argv + std::max(argc, 1)});
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
