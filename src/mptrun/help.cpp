// help_text() and markdown(): the table of options for two readers.
#include "option_table.hpp"
#include "words.hpp"

#include <array>

#include <fmt/format.h>

namespace mptrun {
namespace {

struct heading {
    topic about;
    std::string_view text;
};
constexpr std::array headings{
    heading{topic::ranks, "Ranks and programs"}, heading{topic::environment, "Environment"},
    heading{topic::streams, "Input and output"}, heading{topic::binding, "CPUs"},
    heading{topic::trouble, "Trouble"},          heading{topic::other, "Other"},
};

constexpr std::string_view rules =
    "One dash or two, \"--name value\" or \"--name=value\". Options of Hydra and Open MPI that mean nothing here are\n"
    "accepted, with one line that names them. Programs are separated by \":\", each with options of its own before it;\n"
    "what is said of streams, CPUs and trouble holds for the whole job.\n";

constexpr std::string_view outcome =
    "Signals are passed on to the ranks; those that do not end within 2 s of Ctrl-C, SIGTERM or the failure of another\n"
    "are killed, and a second Ctrl-C kills at once. Where no wait has begun for a second, and some rank waits, it is said\n"
    "first who waits for whom.\n"
    "Exit code: 0, or that of the first rank that failed; 128 + signal where a signal ended it; 124 after --timeout;\n"
    "127 where nothing was started.\n";

constexpr std::string_view binding =
    "Without `--bind-to`, ranks share the NUMA nodes evenly, in their order, and a rank may use all CPUs of its nodes: its "
    "memory is\n"
    "near, its threads have room, and it never waits for a CPU while one beside it is idle. Nothing is bound where there is "
    "one node,\n"
    "or where it could hurt: one rank alone, more ranks than CPUs, an affinity mask or cpuset that leaves out CPUs of this "
    "machine, a\n"
    "CPU quota, another `mptrun` that binds at the same time, or a system that does not say how its CPUs are made.\n\n"
    "With `--bind-to`, only CPUs of the affinity mask are used, and ranks beyond the number of objects begin again at the "
    "first. What\n"
    "CPUs have in common is read from `/sys/devices/system`.\n";

constexpr std::string_view pages =
    "Huge pages are those of the node's pool of 2 MB; a rank's share is whole pages. `-m700hs` with 8 ranks wants 5600 MB: "
    "where "
    "fewer\n"
    "are free, nothing starts and the answer says how many there are; `-m700h` says it and goes on, and base pages take their "
    "place.\n"
    "A limit of the cgroup (`hugetlb.2MB.max`, `hugetlb.2MB.rsvd.max`, and what version 1 calls them) is read with all groups "
    "above it, and\n"
    "the answer names the file.\n"
    "The pages are reserved before a rank starts, for `MPI_Alloc_mem`, windows and partitions that ask for them "
    "([memory.md](memory.md));\n"
    "what a rank frees, and the rest at the end, goes back to the pool. Where `HUGETLB_MORECORE` is `yes` or a size, `mptrun` "
    "passes that on to\n"
    "glibc (`glibc.malloc.hugetlb` of `GLIBC_TUNABLES`; `thp`: transparent ones), and the pages stay in the pool for "
    "`malloc`.\n"
    "`yes` means pages of `HUGETLB_DEFAULT_PAGE_SIZE`, where that is set. A size that the machine lacks (128K to 512M) is "
    "served by its next\n"
    "smaller huge pages, or by its smallest.\n";

constexpr std::string_view debugging = "`--gdb` with one rank (`-n 1`, or `--gdb=2`) runs it under gdb on this terminal, which "
                                       "is its alone until gdb ends; the other\n"
                                       "ranks run as ever, so a breakpoint holds them where they wait for it. With several, "
                                       "each runs under a gdbserver of its own that\n"
                                       "waits for a debugger; `mptrun` says how to connect, from another terminal, a pane of "
                                       "tmux, or an editor. For everything else\n"
                                       "there are `--wrap` and `--on`: `--on 2 \"valgrind --log-file=v.%r\"`.\n";

constexpr std::string_view examples = R"(```
$ mptrun -n 4 ./solver input.dat                        # 4 ranks, on a laptop too
$ mptrun -n 1 ./master : -n 3 -x LEVEL=2 ./worker       # two programs, one job
$ mptrun -n 4 -l --timeout 2m ./test                    # "[rank] " before each line; 124 if it hangs
$ mptrun -n 4 --out logs ./solver                       # logs/rank.0.out ...
$ mptrun -n 4 --on 2 "perf record -o perf.%r" ./solver  # only rank 2
$ mptrun -n 4 --gdb=2 ./solver                          # rank 2 in gdb, here
$ mptrun -n 4 --bind-to core --report-bindings ./solver
$ mptrun -n 4 --dry-run ./solver                        # what would be started
```
)";

std::string spelled(option_row const& row) {
    std::string text;
    for (auto const& name : split_list(row.names, ' ')) text += (text.empty() ? "" : ", ") + dashed(name);
    if (row.arity == takes::after_equals) return fmt::format("{}[={}]", text, row.values);
    return row.values.empty() ? text : fmt::format("{} {}", text, row.values);
}

std::string ignored_names() {
    std::string text;
    for (auto const& row : option_table())
        if (row.about == topic::ignored)
            for (auto const& name : split_list(row.names, ' '))
                text += fmt::format("{}`{}`", text.empty() ? "" : ", ", dashed(name));
    return text;
}
} // namespace

std::string help_text() {
    constexpr std::size_t column = 26;
    std::string text = "usage: mptrun [options] [--] program [arguments...] [: [options] program [arguments...]]...\n";
    for (auto const& h : headings) {
        text += fmt::format("\n{}\n", h.text);
        for (auto const& row : option_table()) {
            if (row.about != h.about) continue;
            auto const names = spelled(row);
            text += names.size() < column ? fmt::format("  {:<{}}{}\n", names, column, row.help)
                                          : fmt::format("  {}\n  {:<{}}{}\n", names, "", column, row.help);
        }
    }
    return fmt::format("{}\n{}{}", text, rules, outcome);
}

std::string markdown() {
    std::string text =
        "# mptrun\n\nGenerated from `src/mptrun/option_table.cpp` by `mptrun --markdown`; do not edit.\n\n`mptrun` (also "
        "`mpirun`, `mpiexec`, `oshrun`) starts the ranks of a job on this node. It says nothing when all is well.\n\n";
    text += fmt::format("{}\n{}\n{}", examples, rules, outcome);
    for (auto const& h : headings) {
        text += fmt::format("\n## {}\n\n| option | |\n|---|---|\n", h.text);
        for (auto const& row : option_table())
            if (row.about == h.about) text += fmt::format("| `{}` | {} |\n", spelled(row), row.help);
        if (h.about == topic::ranks) text += fmt::format("\n{}", pages);
        if (h.about == topic::binding) text += fmt::format("\n{}", binding);
        if (h.about == topic::trouble) text += fmt::format("\n{}", debugging);
    }
    return text + fmt::format("\n## Accepted and ignored\n\n{}.\n", ignored_names());
}

} // namespace mptrun
