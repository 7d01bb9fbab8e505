// mptrun's arguments and its choice of CPUs, in this process: random arguments either parse or are answered with one sentence, and what
// was parsed is printed and parsed to the same; CPUs are those of trees in /sys's form.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include <mpt/boot/boot.hpp>

#include "../../src/mptrun/binding.hpp"
#include "../../src/mptrun/option_table.hpp"
#include "../../src/mptrun/options.hpp"
#include "../../src/mptrun/pages.hpp"
#include "../../src/mptrun/topology.hpp"
#include "../../src/mptrun/words.hpp"
#include "../support/dice.hpp"
#include "../support/huge_pages.hpp"

namespace {
using namespace mptrun;
using mpt::test::dice;
using mpt::test::seeds;
using words_t = std::vector<std::string>;

surroundings const nowhere{[](std::string const& name) -> std::optional<std::string> {
                               if (name == "HOME") return "/root";
                               if (name == "EMPTY") return "";
                               return {};
                           },
                           [](std::string const& name) -> std::optional<std::string> {
                               if (name == "hosts")
                                   return "# two ways to say it\nlocalhost slots=2\nhere.example:4 max-slots=8\n\n";
                               if (name == "far") return "localhost\nelsewhere\n";
                               if (name == "parts") return "# two programs\n-n 2 -x A=1 one 'a b' \\\n  c\n\n-n 3 two\n";
                               if (name == "itself") return "-configfile itself\n";
                               return {};
                           },
                           "here.example"};

options parsed(std::string const& line) { return parse(split_words(line), nowhere); }
std::string refused(std::string const& line) {
    try {
        parsed(line);
    } catch (usage_error const& e) { return e.what(); }
    return "(parsed)";
}

words_t names_of(option_row const& row) { return split_list(row.names, ' '); }

class arguments {
    dice d_;

    std::string name() {
        auto const& row = option_table()[d_.below(static_cast<unsigned>(option_table().size()))];
        auto const all = names_of(row);
        auto n = all[d_.below(static_cast<unsigned>(all.size()))];
        if (d_.below(12) == 0 && !n.empty())
            n[d_.below(static_cast<unsigned>(n.size()))] = d_.one_of({'x', '-', '=', ' ', '9'});
        return (d_.coin() ? "-" : "--") + n;
    }
    std::string value() {
        switch (d_.below(6)) {
        case 0: return std::to_string(d_.below(6));
        case 1:
            return d_.one_of<char const*>(
                {"core", "socket:2", "none", "ppr:2:numa", "slot:PE=2", "l3", "ppr:3:node", "hwthread:pe=", ":"});
        case 2: return d_.one_of<char const*>({"A=1", "HOME", "EMPTY", "NONE", "B=", "=", "A=b c'd\"e\\", "HOME,EMPTY"});
        case 3:
            return d_.one_of<char const*>(
                {"localhost:2", "here", "far", "hosts", "parts", "itself", "dir=a,tag", "file=x", "%r"});
        case 4:
            return d_.one_of<char const*>(
                {"30s", "500ms", "2m", "1e3", "-1", "0", "99999999999", "0-2,4", "all", "2-1", "strace -f", "'", "\\"});
        default: return noise();
        }
    }
    std::string noise() {
        std::string s(d_.below(5), ' ');
        for (auto& c : s) c = static_cast<char>(1 + d_.below(255));
        std::erase(s, '\n');
        return s;
    }

public:
    explicit arguments(unsigned seed) : d_{seed} {}
    words_t operator()() {
        words_t all;
        for (auto parts = 1 + d_.below(3); parts > 0; --parts) {
            for (auto n = d_.below(5); n > 0; --n) {
                all.push_back(name());
                if (d_.below(6) == 0) all.back() += '=' + value();
                else
                    for (auto v = d_.below(3); v > 0; --v) all.push_back(value());
            }
            if (d_.below(8) != 0) all.emplace_back("program");
            for (auto n = d_.below(3); n > 0; --n) all.push_back(value());
            if (parts > 1) all.emplace_back(":");
        }
        return all;
    }
    /// Options with values that fit more often.
    words_t likely() {
        constexpr std::array lines{"-n 3",
                                   "-np 2",
                                   "-N 40",
                                   "-x A=5",
                                   "-genv B 6",
                                   "-env C=7",
                                   "-genvlist HOME",
                                   "-envnone",
                                   "-wdir /tmp",
                                   "--timeout 5s",
                                   "-l",
                                   "--out logs",
                                   "--stdin none",
                                   "--stdin=all",
                                   "--bind-to l3",
                                   "--map-by numa",
                                   "--on 0 perf",
                                   "--gdb=0",
                                   "--wrap 'a b' c",
                                   "-host localhost",
                                   "--mca a b",
                                   "--dry-run",
                                   "-path /bin",
                                   "-initial-errhandler mpi_errors_return",
                                   "--flavour mt",
                                   "--map-by ppr:2:socket",
                                   "--gdb-port 5000",
                                   "-m700hs",
                                   "-memory-alloc-kinds mpi,system",
                                   "-m 1Gh",
                                   "--prepend-pattern %r"};
        words_t all;
        for (auto parts = 1 + d_.below(3); parts > 0; --parts) {
            for (auto n = d_.below(6); n > 0; --n)
                for (auto const& w : split_words(lines[d_.below(lines.size())])) all.push_back(w);
            all.push_back(d_.coin() ? "program" : noise());
            for (auto n = d_.below(3); n > 0; --n) all.push_back(noise());
            if (parts > 1) all.emplace_back(":");
        }
        return all;
    }
};

/// Parsed: true, and printing it leads to the same.
bool survives(words_t const& words) {
    try {
        auto o = parse(words, nowhere);
        if (o.help || o.version || o.markdown) return true;
        o.notes.clear();
        auto const again = canonical(o);
        EXPECT_EQ(parse(again, nowhere), o) << joined(words) << "\n" << joined(again);
        EXPECT_EQ(split_words(joined(again)), again);
        return true;
    } catch (usage_error const& e) {
        std::string const said = e.what();
        EXPECT_TRUE(said.ends_with('.') || said.ends_with('?')) << joined(words) << ": " << said;
        EXPECT_EQ(said.find('\n'), said.npos) << said;
        return false;
    }
}

TEST(mptrun_options, random_arguments_parse_or_are_answered_with_one_sentence) {
    seeds const s{800};
    int both[2] = {0, 0};
    for (unsigned i = 0; i < s.count; ++i) {
        arguments make{s.first + i};
        for (int k = 0; k < 5; ++k) ++both[survives(make())], ++both[survives(make.likely())];
        ASSERT_FALSE(HasFailure()) << "MPT_SEED=" << s.first + i;
    }
    std::printf("%d parsed, %d refused\n", both[1], both[0]);
    if (s.count > 1) { EXPECT_GT(std::min(both[0], both[1]), 500); }
}

TEST(mptrun_options, random_words_survive_a_shell) {
    seeds const s{500};
    for (unsigned i = 0; i < s.count; ++i) {
        dice d{s.first + i};
        words_t all(d.below(6));
        for (auto& w : all)
            for (auto n = d.below(6); n > 0; --n) w += d.one_of({'a', ' ', '\'', '"', '\\', '$', '\n', '\t', '*', '~', '='});
        EXPECT_EQ(split_words(joined(all)), all) << "MPT_SEED=" << s.first + i;
    }
}

TEST(mptrun_options, both_dialects_say_the_same) {
    auto const base = parsed("-n 4 -x A=1 --timeout 2s prog");
    for (auto const* same : {"-np 4 -x A=1 -timeout 2 prog", "--n=4 --x A=1 --timeout=2000ms prog",
                             "-n4 -env A 1 -timeout 2s -- prog", "-N 4 -genv A=1 --timeout 2s prog",
                             "--map-by ppr:4:node -genv A 1 --timeout 2s prog", "-ppn 4 -env A=1 -timeout 2s prog"})
        EXPECT_EQ(parsed(same), base) << same;
}

TEST(mptrun_options, every_option_has_help_and_is_found_by_each_of_its_names) {
    std::map<std::string, int> seen;
    auto const page = markdown();
    for (auto const& row : option_table())
        for (auto const& n : names_of(row)) {
            EXPECT_EQ(find_option(n), &row);
            EXPECT_EQ(seen[n]++, 0) << n;
            EXPECT_EQ(row.help.empty(), row.about == topic::hidden || row.about == topic::ignored) << n;
            if (row.about == topic::hidden) continue;
            EXPECT_NE(page.find(dashed(n)), page.npos) << n;
        }
}

TEST(mptrun_options, a_name_with_one_wrong_letter_leads_to_the_right_one) {
    for (auto const& row : option_table())
        for (auto const& n : names_of(row)) {
            if (row.help.empty() || n.size() < 5) continue;
            auto wrong = n;
            wrong[2] = wrong[2] == 'q' ? 'z' : 'q';
            EXPECT_EQ(refused("--" + wrong + " p"), "there is no option --" + wrong + ". Did you mean --" + n + "?");
        }
    EXPECT_EQ(refused("--zzzzzzzzzz p"), "there is no option --zzzzzzzzzz.");
}

TEST(mptrun_options, variables_of_all_come_first_and_parts_have_their_own) {
    auto const o = parsed("-x A=1 one : -n 2 -env A 2 -envnone -genv B 3 two");
    ASSERT_EQ(o.parts.size(), 2u);
    using list = std::vector<std::pair<std::string, std::string>>;
    EXPECT_EQ(o.parts[0].variables, (list{{"B", "3"}, {"A", "1"}}));
    EXPECT_EQ(o.parts[1].variables, (list{{"B", "3"}, {"A", "2"}}));
    EXPECT_TRUE(o.parts[0].inherits);
    EXPECT_FALSE(o.parts[1].inherits);
    EXPECT_EQ(o.ranks, 3);
    EXPECT_EQ(&part_of(o, 0), &o.parts[0]);
    EXPECT_EQ(&part_of(o, 2), &o.parts[1]);
    EXPECT_EQ(parsed("-genvlist HOME,NONE p").parts[0].variables, (list{{"HOME", "/root"}}));
    EXPECT_TRUE(parsed("-genvnone -envall p").parts[0].inherits);
}

TEST(mptrun_options, error_handlers_are_told_by_their_names_in_any_case) {
    auto const of = [](char const* name) {
        return parsed("-initial-errhandler " + std::string{name} + " p").parts[0].errhandler;
    };
    EXPECT_EQ(of("MPI_ERRORS_RETURN"), "mpi_errors_return");
    EXPECT_EQ(of("mpi_errors_abort"), "mpi_errors_abort");
    EXPECT_EQ(of("mpi_errors_are_fatal"), "");
    EXPECT_EQ(parsed("-initial-errhandler mpi_errors_abort one : two").parts[1].errhandler, "");
    EXPECT_EQ(refused("-initial-errhandler fatal p"),
              "-initial-errhandler wants mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return, not \"fatal\".");
}

TEST(mptrun_options, a_flavour_is_a_name_and_a_part_has_its_own) {
    auto const o = parsed("--flavour mt one : --flavour=debug two : three");
    ASSERT_EQ(o.parts.size(), 3u);
    EXPECT_EQ(o.parts[0].flavour, "mt");
    EXPECT_EQ(o.parts[1].flavour, "debug");
    EXPECT_EQ(o.parts[2].flavour, "");
    EXPECT_EQ(refused("--flavour ../x p"), "--flavour wants the name of a flavour, such as mt, not \"../x\".");
    EXPECT_EQ(refused("--flavour= p"), "--flavour wants the name of a flavour, such as mt, not \"\".");
}

TEST(mptrun_options, a_file_of_options_is_a_program_a_line) {
    auto const o = parsed("-configfile parts");
    ASSERT_EQ(o.parts.size(), 2u);
    EXPECT_EQ(o.parts[0].command, (words_t{"one", "a b", "c"}));
    EXPECT_EQ(o.parts[1].command, (words_t{"two"}));
    EXPECT_EQ(o.ranks, 5);
    EXPECT_EQ(refused("-configfile itself"), "-configfile itself: a file of options cannot name another.");
    EXPECT_EQ(refused("-configfile nowhere"), "-configfile: cannot read the file nowhere.");
}

TEST(mptrun_options, only_this_host_is_accepted) {
    for (auto const* here :
         {"-host localhost", "-H here:2,localhost", "-hosts here.example", "--host ::1", "-f hosts", "--hostfile hosts"})
        EXPECT_EQ(parsed(std::string{here} + " p").ranks, 1) << here;
    EXPECT_EQ(refused("-f far p"),
              "host \"elsewhere\" is not this one (\"here.example\"): this build starts ranks on one node only.");
}

/// A folder like /sys/devices/system: two sockets, each a NUMA node and an L3 of four cores, with two threads each: c and c + 8.
class tree {
    std::filesystem::path root_;
    void write(std::string const& file, std::string const& text) const {
        auto const path = root_ / file;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream{path} << text << '\n';
    }

public:
    explicit tree(bool with_topology = true) {
        std::string name = "/tmp/mpt-test-XXXXXX";
        root_ = ::mkdtemp(name.data());
        write("cpu/online", "0-15");
        if (!with_topology) return;
        write("node/online", "0-1");
        for (int s = 0; s < 2; ++s) write("node/node" + std::to_string(s) + "/cpulist", socket(s));
        for (int c = 0; c < 16; ++c) {
            auto const cpu = "cpu/cpu" + std::to_string(c) + '/';
            auto const core = std::to_string(c % 8) + ',' + std::to_string(c % 8 + 8);
            write(cpu + "topology/thread_siblings_list", core);
            write(cpu + "topology/core_siblings_list", socket(c % 8 / 4));
            int index = 0;
            for (auto const& [depth, type, cpus] :
                 {std::tuple{"1", "Data", core}, {"1", "Instruction", core}, {"3", "Unified", socket(c % 8 / 4)}}) {
                auto const cache = cpu + "cache/index" + std::to_string(index++) + '/';
                write(cache + "level", depth);
                write(cache + "type", type);
                write(cache + "shared_cpu_list", cpus);
            }
        }
    }
    static tree const& standard() {
        static tree const one;
        return one;
    }
    ~tree() { std::filesystem::remove_all(root_); }
    tree(tree const&) = delete;
    static std::string socket(int s) { return s == 0 ? "0-3,8-11" : "4-7,12-15"; }
    machine allowing(std::string_view cpus) const { return {root_.string(), read_cpus(cpus)}; }
};

std::string text(std::vector<cpu_list> const& all) {
    std::string s;
    for (auto const& a : all) s += (s.empty() ? "" : " ") + print(a);
    return s;
}
std::string placed(machine const& m, std::string const& how) {
    auto const o = parsed(how + " p");
    return text(chosen(m, o.place, o.ranks));
}

TEST(mptrun_binding, lists_of_cpus_are_read_and_written_as_the_system_does) {
    EXPECT_EQ(read_cpus("0-3,8,10-11\n"), (cpu_list{0, 1, 2, 3, 8, 10, 11}));
    EXPECT_EQ(print(cpu_list{0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
    for (auto const* odd : {"", ",", "x", "-", "3-", "5-2", "-7", "99999999999"}) EXPECT_LE(read_cpus(odd).size(), 1u) << odd;
}

TEST(mptrun_binding, objects_are_what_cpus_share_without_those_that_we_may_not_use) {
    auto const& t = tree::standard();
    auto const all = t.allowing("0-15");
    EXPECT_EQ(text(all.objects(level::core)), "0,8 1,9 2,10 3,11 4,12 5,13 6,14 7,15");
    for (auto const l : {level::socket, level::numa, level::l3}) EXPECT_EQ(text(all.objects(l)), "0-3,8-11 4-7,12-15");
    EXPECT_EQ(text(all.objects(level::l1)), text(all.objects(level::core)));
    EXPECT_EQ(text(all.objects(level::l2)), "");
    auto const holes = t.allowing("0,2,5,8,13");
    EXPECT_EQ(text(holes.objects(level::core)), "0,8 2 5,13");
    EXPECT_EQ(text(holes.objects(level::socket)), "0,2,8 5,13");
    EXPECT_EQ(text(tree{false}.allowing("0-3").objects(level::core)), "");
}

TEST(mptrun_binding, shares_without_being_asked_are_even_whole_cores_and_all_cpus) {
    auto const& t = tree::standard();
    EXPECT_EQ(text(even_shares(t.allowing("0-15"), 2)), "0-3,8-11 4-7,12-15");
    EXPECT_EQ(text(even_shares(t.allowing("0-15"), 3)), "0-1,8-9 2-4,10-12 5-7,13-15");
    EXPECT_EQ(text(even_shares(tree{false}.allowing("0-3"), 2)), "");
    seeds const s{100};
    for (unsigned i = 0; i < s.count; ++i) {
        dice d{s.first + i};
        cpu_list allowed;
        for (int c = 0; c < 16; ++c)
            if (d.coin()) allowed.push_back(c);
        auto const m = t.allowing(print(allowed));
        auto const cores = m.objects(level::core);
        auto const ranks = 1 + d.below(18);
        auto const shares = even_shares(m, static_cast<int>(ranks));
        ASSERT_EQ(shares.empty(), ranks > allowed.size()) << "MPT_SEED=" << s.first + i;
        cpu_list given;
        std::size_t least = 99, most = 0;
        for (auto const& share : shares) {
            auto const touched = static_cast<std::size_t>(
                std::ranges::count_if(cores, [&](auto const& c) { return std::ranges::find_first_of(c, share) != c.end(); }));
            least = std::min(least, touched), most = std::max(most, touched);
            given.insert(given.end(), share.begin(), share.end());
        }
        if (shares.empty()) continue;
        std::ranges::sort(given);
        EXPECT_EQ(given, allowed) << "MPT_SEED=" << s.first + i;
        if (ranks <= cores.size()) { EXPECT_LE(most - least, 1u) << "MPT_SEED=" << s.first + i; }
    }
}

TEST(mptrun_binding, without_being_asked_is_to_whole_numa_nodes) {
    auto const& t = tree::standard();
    auto const standard = [&](std::string_view cpus, int ranks) {
        auto const m = t.allowing(cpus);
        return text(widened(m, even_shares(m, ranks)));
    };
    EXPECT_EQ(standard("0-15", 2), "0-3,8-11 4-7,12-15");
    EXPECT_EQ(standard("0-15", 4), "0-3,8-11 0-3,8-11 4-7,12-15 4-7,12-15");
    EXPECT_EQ(standard("0-15", 3), "0-3,8-11 0-15 4-7,12-15"); // the one in the middle has cores of both
    EXPECT_EQ(standard("0-15", 1), "");
    EXPECT_EQ(standard("0-3", 4), "");
    EXPECT_EQ(standard("0-15", 17), "");
}

TEST(mptrun_binding, without_being_asked_is_for_one_job_at_a_time_on_cpus_that_nobody_chose) {
    auto const& t = tree::standard();
    EXPECT_FALSE(may_bind(t.allowing("0-14")));
    may_bind(t.allowing("0-15")); // takes the turn, unless there is a quota or another job
    EXPECT_FALSE(may_bind(t.allowing("0-15")));
}

TEST(mptrun_binding, is_where_bind_to_and_map_by_say) {
    auto const& t = tree::standard();
    auto const m = t.allowing("0-15");
    EXPECT_EQ(placed(m, "-n 3 --bind-to core"), "0,8 1,9 2,10");
    EXPECT_EQ(placed(m, "-n 3 --bind-to core:2"), "0-1,8-9 2-3,10-11 4-5,12-13");
    EXPECT_EQ(placed(m, "-n 3 --bind-to core --map-by socket"), "0,8 4,12 1,9");
    EXPECT_EQ(placed(m, "-n 4 --bind-to core --map-by ppr:2:socket"), "0,8 1,9 4,12 5,13");
    EXPECT_EQ(placed(m, "-n 2 --map-by slot:PE=4"), "0-3,8-11 4-7,12-15");
    EXPECT_EQ(placed(m, "-n 3 --map-by numa"), "0-3,8-11 4-7,12-15 0-3,8-11");
    EXPECT_EQ(placed(m, "-n 3 --bind-to hwthread"), "0 1 2");
    EXPECT_EQ(placed(t.allowing("3,5"), "-n 3 --bind-to core"), "3 5 3");
    EXPECT_EQ(placed(m, "-n 2 --bind-to socket --map-by core"), "0-3,8-11 0-3,8-11");
    EXPECT_THROW(placed(m, "-n 2 --bind-to l2"), usage_error);
}

// --- huge pages -----------------------------------------------------------------------------------------------------------------

mpt::mem::offer pool_of(std::uint64_t pages, std::uint64_t free, std::uint64_t may_grow = 0) {
    mpt::mem::offer o;
    o.pools.push_back({.page = 2 << 20, .pages = pages, .free = free, .may_grow = may_grow});
    return o;
}

TEST(mptrun_pages, are_megabytes_for_each_rank_wanted_or_required) {
    constexpr std::uint64_t mib = 1 << 20;
    auto const pages = [](char const* options) { return parsed(options).parts[0].pages; };
    EXPECT_EQ(pages("-m700hs prog"), (page_wish{700 * mib, true}));
    EXPECT_EQ(pages("-m 700h prog"), (page_wish{700 * mib, false}));
    EXPECT_EQ(pages("-m1Ghs prog"), (page_wish{1024 * mib, true}));
    EXPECT_EQ(pages("--m=512kh prog"), (page_wish{mib / 2, false}));
    EXPECT_EQ(pages("prog"), page_wish{});
    EXPECT_EQ(parsed("-n 2 -m8h one : -n 3 -m4hs two").parts[1].pages, (page_wish{4 * mib, true}));
    for (auto const* bad :
         {"-m700 prog", "-m h prog", "-m0h prog", "-m700Th prog", "-m700s prog", "-m99999999999999999Gh prog"})
        try {
            parsed(bad);
            ADD_FAILURE() << bad;
        } catch (usage_error const& e) {
            EXPECT_NE(std::string_view{e.what()}.find("700h (700 MB, or base pages), 700hs"), std::string_view::npos)
                << e.what();
        }
}

TEST(mptrun_pages, are_compared_with_what_is_free_before_anything_starts) {
    auto const o = parsed("-n 2 -m5hs one : -n 1 -m2h two : -n 9 three"); // 2 * 3 pages and 1
    EXPECT_TRUE(asks_for_pages(o));
    EXPECT_FALSE(asks_for_pages(parsed("-n 2 one")));
    EXPECT_EQ(check_pages(o, pool_of(7, 7)), "");
    EXPECT_EQ(check_pages(o, pool_of(9, 3, 4)), "") << "the system makes four more";
    try {
        check_pages(o, pool_of(9, 6));
        ADD_FAILURE() << "it was begun";
    } catch (usage_error const& e) {
        EXPECT_STREQ(e.what(),
                     "3 ranks ask for 14 MB of huge pages (7 of 2 MB), but 6 of 9 are free: nothing was started. More "
                     "pages: as root, echo 10 > /proc/sys/vm/nr_hugepages; without the s of -m...hs, base pages take "
                     "their place.");
    }
    auto limited = pool_of(9, 9);
    limited.pools[0].allowed = 3, limited.pools[0].allowed_by = "/sys/fs/cgroup/job/hugetlb.2MB.max";
    try {
        check_pages(o, limited);
        ADD_FAILURE() << "it was begun";
    } catch (usage_error const& e) {
        EXPECT_STREQ(e.what(),
                     "3 ranks ask for 14 MB of huge pages (7 of 2 MB), but /sys/fs/cgroup/job/hugetlb.2MB.max leaves 3 "
                     "to this job: nothing was started. Raise that limit, or ask for fewer; without the s of -m...hs, "
                     "base pages take their place.");
    }
    auto const advised = parsed("-n 2 -m5h one");
    EXPECT_EQ(check_pages(advised, pool_of(9, 6)), "");
    EXPECT_EQ(check_pages(advised, {}),
              "2 ranks ask for 12 MB of huge pages (6 of 2 MB), but 0 of 0 are free: base pages take their place.");
}

TEST(mptrun_pages, are_reserved_for_the_ranks_of_a_job_and_given_back_at_its_end) {
    mpt::test::huge_pages_turn const turn;
    auto const early = mpt::mem::arena::open(mpt::boot::make_segments(1)); // where the node had no pages yet, it can have none
    mpt::test::huge_pages const pool{9};
    if (!pool.why_not().empty()) GTEST_SKIP() << pool.why_not();
    auto const o = parsed("-n 2 -m5hs one : -n 1 -m2h two : -n 9 three"); // 2 * 3 pages and 1
    auto const none = [](part const&) { return false; };
    auto const free = [] { return mpt::test::huge_pages::free(); };
    {
        auto const job = mpt::mem::arena::open(mpt::boot::make_segments(12));
        EXPECT_EQ(reserve_pages(o, *job, none), "");
        EXPECT_EQ(free(), 2u);
        mpt::mem::slice_heap first{job, mpt::rank{1}, 1 << 20};
        auto const block = first.allocate(6 << 20, {.page = mpt::bytes{2 << 20}});
        EXPECT_EQ(first.placed_as(block.data())->pages_from, "hugetlb");
        EXPECT_EQ(free(), 2u) << "its rank takes those that were reserved";

        auto const other = mpt::mem::arena::open(mpt::boot::make_segments(12));
        EXPECT_THROW(reserve_pages(o, *other, none), usage_error) << "they are not there twice";
        EXPECT_EQ(reserve_pages(parsed("-n 1 -m4h one"), *other, none), "") << "two are left";
        EXPECT_EQ(free(), 0u);
    }
    EXPECT_EQ(free(), 9u);
    if (early->huge_part() == 0) {
        EXPECT_THROW(reserve_pages(parsed("-n 1 -m2hs one"), *early, none), usage_error);
        EXPECT_NE(reserve_pages(parsed("-n 1 -m2h one"), *early, none).find("of rank 0 cannot be reserved"), std::string::npos);
    }
    auto const malloc = mpt::mem::arena::open(mpt::boot::make_segments(1));
    EXPECT_EQ(reserve_pages(parsed("-n 1 -m5hs one"), *malloc, [](part const&) { return true; }), "");
    EXPECT_EQ(free(), 9u) << "malloc finds them in the pool";
}

TEST(mptrun_pages, of_an_exact_pool_suffice_and_come_back_when_a_rank_frees_them) {
    mpt::test::huge_pages_turn const turn;
    auto const o = parsed("-n 2 -m3hs one"); // 2 * 2 pages
    auto const none = [](part const&) { return false; };
    auto const free = [] { return mpt::test::huge_pages::free(); };
    {
        mpt::test::huge_pages const pool{4};
        if (!pool.why_not().empty()) GTEST_SKIP() << pool.why_not();
        auto const job = mpt::mem::arena::open(mpt::boot::make_segments(2));
        EXPECT_EQ(reserve_pages(o, *job, none), "");
        EXPECT_EQ(free(), 0u);
        for (auto const me : {0, 1}) {
            mpt::mem::slice_heap rank{job, mpt::rank{me}, 1 << 20};
            auto const all = rank.allocate(4 << 20, {.page = mpt::bytes{2 << 20}});
            EXPECT_EQ(rank.placed_as(all.data())->pages_from, "hugetlb");
            all.front() = all.back() = std::byte{1};
            EXPECT_EQ(rank.look().user.huge, all.size());
            rank.deallocate(all);
            EXPECT_EQ(free(), 2u) << "they are the pool's, no longer the rank's";
            auto const again = rank.allocate(4 << 20, {.page = mpt::bytes{2 << 20}});
            EXPECT_EQ(rank.placed_as(again.data())->pages_from, "hugetlb");
            EXPECT_EQ(again.front(), std::byte{0});
            EXPECT_EQ(free(), 0u);
        }
    }
    for (auto const size : {4 << 20, 8 << 20}) { // several pages that begin at a multiple of their size are the same ones
        mpt::test::huge_pages const exact{4};
        auto const job = mpt::mem::arena::open(mpt::boot::make_segments(1));
        EXPECT_EQ(reserve_pages(parsed("-n 1 -m8hs one"), *job, none), "");
        mpt::mem::slice_heap rank{job, mpt::rank{0}, 1 << 20};
        for (int i = 0; i < (8 << 20) / size; ++i) {
            auto const block =
                rank.allocate(static_cast<std::size_t>(size), {.page = mpt::bytes{static_cast<std::size_t>(size)}});
            EXPECT_EQ(rank.placed_as(block.data())->pages_from, "hugetlb") << size;
        }
        EXPECT_EQ(free(), 0u);
    }
    mpt::test::huge_pages const pool{3};
    auto const job = mpt::mem::arena::open(mpt::boot::make_segments(2));
    EXPECT_THROW(reserve_pages(o, *job, none), usage_error) << "one page less";
    EXPECT_EQ(free(), 3u) << "nothing was taken";
}

TEST(mptrun_pages, of_malloc_are_as_hugetlb_morecore_says_unless_glibc_is_told) {
    mpt::mem::offer here;
    here.pools = {{.page = 2 << 20}, {.page = 1 << 30}};
    auto const as = [&](std::string const& pages, std::string const& size = {}, std::string_view tunables = {}) {
        return with_morecore(tunables, {pages, size}, here);
    };
    EXPECT_EQ(as("yes"), "glibc.malloc.hugetlb=2");
    EXPECT_EQ(as("thp", "8M", "glibc.malloc.check=3"), "glibc.malloc.check=3:glibc.malloc.hugetlb=1");
    EXPECT_EQ(as("2M"), "glibc.malloc.hugetlb=2097152");
    EXPECT_EQ(as("no", "2M"), "");
    EXPECT_EQ(as("", "2M"), "") << "a size alone asks for nothing";
    EXPECT_EQ(as("yes", "", "glibc.malloc.hugetlb=0"), "glibc.malloc.hugetlb=0");
    for (auto const* size : {"128K", "2M", "8M", "512M"}) {
        EXPECT_EQ(as("yes", size), "glibc.malloc.hugetlb=2097152") << size << ": the pages that the machine has";
        EXPECT_EQ(as(size), "glibc.malloc.hugetlb=2097152") << size;
    }
    EXPECT_EQ(as("yes", "2G"), "glibc.malloc.hugetlb=1073741824");
    EXPECT_EQ(with_morecore("", {"yes", "8M"}, {}), "glibc.malloc.hugetlb=8388608") << "a machine that does not say";
    EXPECT_THROW(as("perhaps"), usage_error);
    EXPECT_THROW(as("yes", "large"), usage_error);
    EXPECT_TRUE(malloc_takes_of_pool(as("yes", "", "glibc.malloc.check=3")));
    EXPECT_TRUE(malloc_takes_of_pool("glibc.malloc.hugetlb=2097152:glibc.malloc.check=3"));
    for (auto const* not_so :
         {"", "glibc.malloc.check=3", "glibc.malloc.hugetlb=1", "glibc.malloc.hugetlb=0:glibc.malloc.check=2"})
        EXPECT_FALSE(malloc_takes_of_pool(not_so)) << not_so;
}

TEST(mptrun_topology, hwloc_and_the_system_say_the_same_of_this_machine) {
    machine const system{"/sys/devices/system", allowed_cpus()};
    auto both = system;
    if (hwloc_objects(level::hwthread).empty()) GTEST_SKIP() << "there is no libhwloc";
    both.ask(hwloc_objects);
    for (auto const l : {level::hwthread, level::core, level::l1, level::l2, level::l3, level::numa, level::socket}) {
        auto const known = system.objects(l);
        if (!known.empty()) { EXPECT_EQ(both.objects(l), known) << name_of(l); }
    }
}

TEST(mptrun_topology, who_knows_better_is_asked_first_and_the_system_where_it_knows_nothing) {
    machine here{"/nowhere", {0, 1, 2, 3}};
    EXPECT_TRUE(here.objects(level::core).empty());
    here.ask([](level l) { return l == level::core ? std::vector<cpu_list>{{0, 2, 8}, {1, 3}} : std::vector<cpu_list>{}; });
    EXPECT_EQ(here.objects(level::core), (std::vector<cpu_list>{{0, 2}, {1, 3}}));
    EXPECT_TRUE(here.objects(level::l3).empty());
}

} // namespace
