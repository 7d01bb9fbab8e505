#include <cstdlib>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/config/config.hpp>
#include <mpt/core/processor.hpp>

namespace config = mpt::config;
using config::table;
using config::values;

namespace {

/// An environment, without touching that of the process.
values read(std::initializer_list<char const*> entries) {
    std::vector<char const*> e{entries};
    e.push_back(nullptr);
    return values::read(e.data());
}
std::string refusal(std::initializer_list<char const*> entries) {
    try {
        static_cast<void>(read(entries));
        return "accepted";
    } catch (mpt::error const& e) {
        EXPECT_EQ(e.code(), mpt::errc::configuration);
        return e.what();
    }
}
config::setting const& setting_of(values const& v, std::string_view name) { return v.at(config::row_of(name)); }

TEST(config, an_empty_environment_gives_every_default_without_a_warning) {
    values const v = read({});
    for (std::size_t i = 0; i < table.size(); ++i) {
        EXPECT_EQ(v.at(i).number, table[i].initial) << table[i].name;
        EXPECT_EQ(v.at(i).from, config::given::initial) << table[i].name;
    }
    EXPECT_TRUE(v.warnings().empty());
    EXPECT_EQ(v.job_values(), values{}.job_values());
    EXPECT_NO_THROW(static_cast<void>(values::read(nullptr)));
}

TEST(config, get_returns_what_the_row_is) {
    values const v = read({"MPT_SPIN=7", "MPT_EAGER_MAX=4K", "MPT_BOTH_ENDS=off", "MPT_STREAM=tcp"});
    static_assert(std::is_same_v<decltype(v.get<"MPT_SPIN">()), std::uint32_t>);
    static_assert(std::is_same_v<decltype(v.get<"MPT_EAGER_MAX">()), mpt::bytes>);
    static_assert(std::is_same_v<decltype(v.get<"MPT_BOTH_ENDS">()), bool>);
    EXPECT_EQ(v.get<"MPT_SPIN">(), 7u);
    EXPECT_EQ(v.get<"MPT_EAGER_MAX">(), 4096u);
    EXPECT_FALSE(v.get<"MPT_BOTH_ENDS">());
    EXPECT_TRUE(v.get<"MPT_STREAM">() == "tcp");
    EXPECT_FALSE(v.get<"MPT_STREAM">() == "unix");
    EXPECT_EQ(v.get<"MPT_STREAM">().view(), "tcp");
    EXPECT_EQ(setting_of(v, "MPT_SPIN").from, config::given::environment);
    EXPECT_EQ(setting_of(v, "MPT_YIELD").from, config::given::initial);
}

TEST(config, sizes_take_units_of_1024_in_either_case) {
    struct {
        char const* text;
        std::size_t bytes;
    } const cases[] = {{"0", 0},
                       {"4096", 4096},
                       {"4096B", 4096},
                       {"4K", 4096},
                       {"4k", 4096},
                       {"4KB", 4096},
                       {"4KiB", 4096},
                       {"4kib", 4096},
                       {"2M", 2 << 20},
                       {"1MiB", 1 << 20},
                       {"1G", 1ul << 30},
                       {"1T", 1ul << 40},
                       {" 64 K ", 65536},
                       {"1.5M", 3 << 19},
                       {"0.5 GiB", 1 << 29},
                       {"1e9", 1'000'000'000},
                       {"2.5E3K", 2'560'000}};
    for (auto const& c : cases) {
        std::string const entry = std::string{"MPT_SINGLE_COPY_SIZE="} + c.text;
        EXPECT_EQ(read({entry.c_str()}).get<"MPT_SINGLE_COPY_SIZE">(), c.bytes) << c.text;
    }
}

TEST(config, what_is_no_number_is_refused_with_variable_value_and_range) {
    for (std::string const bad : {"abc", "-1", "4Q", "1.5Q", ".", "-.5K", "K", "4KiBs", "0x10", "4 4", "4BB", "+3"}) {
        auto const what = refusal({("MPT_EAGER_MAX=" + bad).c_str()});
        EXPECT_EQ(what, "MPT_EAGER_MAX=" + bad + " is not a size (4096, 4K, 2M, 1G); allowed: 0 .. 1M (default 64K)");
    }
    for (std::string const bad : {"2k", "ten", "-5", "1e3", "1,000"})
        EXPECT_EQ(refusal({("MPT_LANES=" + bad).c_str()}),
                  "MPT_LANES=" + bad + " is not a whole number; allowed: 1 .. 16 (default 1)");
}

TEST(config, what_lies_outside_the_range_is_refused_also_where_it_overflows) {
    for (std::string const bad : {"0", "17", "99999999999999999999999"})
        EXPECT_EQ(refusal({("MPT_LANES=" + bad).c_str()}),
                  "MPT_LANES=" + bad + " is out of range; allowed: 1 .. 16 (default 1)");
    for (std::string const bad : {"2M", "16777216T", "18446744073709551615K"})
        EXPECT_NE(refusal({("MPT_EAGER_MAX=" + bad).c_str()}).find("is out of range; allowed: 0 .. 1M"), std::string::npos)
            << bad;
    EXPECT_EQ(read({"MPT_LANES=16"}).get<"MPT_LANES">(), 16u);
    EXPECT_EQ(read({"MPT_EAGER_MAX=1M"}).get<"MPT_EAGER_MAX">(), 1u << 20);
}

TEST(config, toggles_and_words_are_read_in_either_case_and_others_refused) {
    for (auto const on :
         {"MPT_ENV_DISPLAY=1", "MPT_ENV_DISPLAY=on", "MPT_ENV_DISPLAY=ON", "MPT_ENV_DISPLAY=yes", "MPT_ENV_DISPLAY=true"})
        EXPECT_TRUE(read({on}).get<"MPT_ENV_DISPLAY">()) << on;
    for (auto const off : {"MPT_BOTH_ENDS=0", "MPT_BOTH_ENDS=off", "MPT_BOTH_ENDS=No", "MPT_BOTH_ENDS=False"})
        EXPECT_FALSE(read({off}).get<"MPT_BOTH_ENDS">()) << off;
    EXPECT_EQ(refusal({"MPT_BOTH_ENDS=2"}), "MPT_BOTH_ENDS=2 is neither on nor off; allowed: on, off (default on)");
    EXPECT_TRUE(read({"MPT_WAIT=SLEEP"}).get<"MPT_WAIT">() == "sleep");
    EXPECT_EQ(refusal({"MPT_WAIT=snooze"}),
              "MPT_WAIT=snooze is none of its words; allowed: auto, spin, yield, sleep (default auto)");
    EXPECT_NE(refusal({"MPT_WAIT=spin|yield"}), "accepted");
}

TEST(config, all_bad_values_are_named_at_once) {
    auto const what = refusal({"MPT_LANES=0", "MPT_SPIN=5", "MPT_WAIT=no"});
    EXPECT_NE(what.find("MPT_LANES=0"), what.npos);
    EXPECT_NE(what.find("\nMPT_WAIT=no"), what.npos);
    EXPECT_EQ(what.find("MPT_SPIN"), what.npos);
}

TEST(config, reading_with_a_list_of_problems_keeps_the_defaults_and_goes_on) {
    char const* const e[] = {"MPT_LANES=0", "MPT_SPIN=5", nullptr};
    std::vector<std::string> problems;
    auto const v = values::read(e, problems);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(v.get<"MPT_LANES">(), 1u);
    EXPECT_EQ(v.get<"MPT_SPIN">(), 5u);
}

TEST(config, names_that_job_scripts_carry_are_accepted) {
    auto const v = read({"MPICH_SMP_SINGLE_COPY_SIZE=16K", "MPICH_ENV_DISPLAY=1", "MPICH_VERSION_DISPLAY=1"});
    EXPECT_EQ(v.get<"MPT_SINGLE_COPY_SIZE">(), 16384u);
    EXPECT_TRUE(v.get<"MPT_ENV_DISPLAY">());
    EXPECT_TRUE(v.get<"MPT_VERSION_DISPLAY">());
    EXPECT_EQ(setting_of(v, "MPT_ENV_DISPLAY").from, config::given::alias);
    EXPECT_TRUE(v.warnings().empty());
}

TEST(config, names_of_openshmem_may_be_written_as_before_1_4) {
    auto const v = read({"SMA_SYMMETRIC_SIZE=16M", "SMA_SYMMETRIC_PARTITION2=size=1G:kind=F"});
    EXPECT_EQ(v.get<"MPT_SYMMETRIC_SIZE">(), 16u << 20);
    EXPECT_EQ(v.get<"MPT_SYMMETRIC_PARTITION2">(), "size=1G:kind=F");
    EXPECT_EQ(setting_of(v, "MPT_SYMMETRIC_SIZE").from, config::given::alias);
    EXPECT_TRUE(read({"SMA_EAGER_MAX=1", "SMA_ENV_DISPLAY=1"}).warnings().empty()) << "somebody else's";
    EXPECT_FALSE(read({"SMA_ENV_DISPLAY=1"}).get<"MPT_ENV_DISPLAY">()) << "MPICH's name, not OpenSHMEM's";
    for (auto const first : {true, false}) { // OpenSHMEM's own name is the controlling one
        char const *const ours = "SHMEM_SYMMETRIC_SIZE=64M", *const old = "SMA_SYMMETRIC_SIZE=1M";
        EXPECT_EQ(read({first ? ours : old, first ? old : ours}).get<"MPT_SYMMETRIC_SIZE">(), 64u << 20);
    }
    for (std::string const name : {"SHMEM_SYMMETRIC_PARTITION9", "SMA_SYMMETRIC_PARTITION0", "MPT_SYMMETRIC_PARTITION9"}) {
        auto const given = name + "=size=8M";
        auto const values = read({given.c_str()});
        auto const& told = values.warnings();
        ASSERT_EQ(told.size(), 1u) << name;
        EXPECT_NE(told[0].find(name), told[0].npos) << told[0];
    }
    auto const bad = refusal({"SMA_SYMMETRIC_SIZE=much"});
    EXPECT_TRUE(bad.starts_with("SMA_SYMMETRIC_SIZE=much (another name for MPT_SYMMETRIC_SIZE) is not a size")) << bad;
    auto const two = refusal({"SMA_SYMMETRIC_SIZE=1M", "MPT_SYMMETRIC_SIZE=2M"});
    EXPECT_NE(two.find("MPT_SYMMETRIC_SIZE=2M and SMA_SYMMETRIC_SIZE=1M contradict each other"), two.npos) << two;
}

TEST(config, the_symmetric_heap_has_its_names_of_elsewhere) {
    for (auto const* const name : {"XT_SYMMETRIC_HEAP_SIZE", "SHMEM_SYMMETRIC_HEAP_SIZE"}) {
        auto const given = std::string{name} + "=16M";
        EXPECT_EQ(read({given.c_str()}).get<"MPT_SYMMETRIC_SIZE">(), 16u << 20);
        EXPECT_EQ(read({given.c_str(), "SMA_SYMMETRIC_SIZE=8M"}).get<"MPT_SYMMETRIC_SIZE">(), 8u << 20);
        EXPECT_EQ(read({"SHMEM_SYMMETRIC_SIZE=8M", given.c_str()}).get<"MPT_SYMMETRIC_SIZE">(), 8u << 20);
        EXPECT_NE(refusal({given.c_str(), "MPT_SYMMETRIC_SIZE=2M"}).find(given + " contradict each other"), std::string::npos);
    }
}

TEST(config, what_follows_the_multiplier_of_openshmems_heap_does_not_count) {
    EXPECT_EQ(read({"SHMEM_SYMMETRIC_SIZE=20kk"}).get<"MPT_SYMMETRIC_SIZE">(), 20u << 10);
    EXPECT_EQ(read({"SHMEM_SYMMETRIC_SIZE=20kx"}).get<"MPT_SYMMETRIC_SIZE">(), 20u << 10);
    EXPECT_EQ(read({"SMA_SYMMETRIC_SIZE=.5m heap"}).get<"MPT_SYMMETRIC_SIZE">(), 1u << 19);
    EXPECT_EQ(read({"SHMEM_SYMMETRIC_SIZE=3.1M"}).get<"MPT_SYMMETRIC_SIZE">(), 3250586u);
    EXPECT_FALSE(refusal({"SHMEM_SYMMETRIC_SIZE=20 heaps"}).empty());
    EXPECT_FALSE(refusal({"MPT_SYMMETRIC_SIZE=20kk"}).empty());
}

TEST(config, an_alias_may_mean_the_opposite) {
    EXPECT_FALSE(read({"MPICH_SMP_SINGLE_COPY_OFF=1"}).get<"MPT_SINGLE_COPY">());
    EXPECT_TRUE(read({"MPICH_SMP_SINGLE_COPY_OFF=0"}).get<"MPT_SINGLE_COPY">());
    EXPECT_EQ(refusal({"MPICH_SMP_SINGLE_COPY_OFF=maybe"}),
              "MPICH_SMP_SINGLE_COPY_OFF=maybe (another name for MPT_SINGLE_COPY) is neither on nor off; allowed: on, off "
              "(default off)");
}

TEST(config, a_variable_and_its_alias_may_agree_but_not_differ) {
    EXPECT_TRUE(read({"MPT_ENV_DISPLAY=on", "MPICH_ENV_DISPLAY=1"}).get<"MPT_ENV_DISPLAY">());
    EXPECT_EQ(setting_of(read({"MPICH_ENV_DISPLAY=1", "MPT_ENV_DISPLAY=on"}), "MPT_ENV_DISPLAY").from,
              config::given::environment);
    EXPECT_FALSE(read({"MPT_SINGLE_COPY=off", "MPICH_SMP_SINGLE_COPY_OFF=1"}).get<"MPT_SINGLE_COPY">());
    auto const what = refusal({"MPT_SINGLE_COPY=off", "MPICH_SMP_SINGLE_COPY_OFF=0"});
    EXPECT_NE(what.find("MPT_SINGLE_COPY=off and MPICH_SMP_SINGLE_COPY_OFF=0 contradict each other"), what.npos) << what;
}

TEST(config, a_misspelt_name_is_a_warning_with_the_name_that_was_meant) {
    auto const v = read({"MPT_EAGRE_MAX=1"});
    ASSERT_EQ(v.warnings().size(), 1u);
    EXPECT_EQ(v.warnings()[0], "mpt knows no variable MPT_EAGRE_MAX; did you mean MPT_EAGER_MAX?");
    EXPECT_EQ(config::nearest("MPT_SPINS"), "MPT_SPIN");
    EXPECT_EQ(config::nearest("MPT_SNIGLE_COPY"), "MPT_SINGLE_COPY");
    EXPECT_EQ(config::nearest("MPT_UNEXPECTED_MX"), "MPT_UNEXPECTED_MAX");
    EXPECT_EQ(config::nearest("MPT_IYEDL"), "MPT_YIELD"); // two neighbours swapped, twice
    EXPECT_EQ(config::nearest("MPT_COMPLETELY_OTHER_THING"), "");
    EXPECT_EQ(read({"MPT_COMPLETELY_OTHER_THING=1"}).warnings()[0],
              "mpt knows no variable MPT_COMPLETELY_OTHER_THING; mptinfo --env shows those it knows");
}

TEST(config, every_name_with_one_letter_wrong_is_recognised) {
    for (auto const& r : table)
        for (std::size_t at = 4; at < r.name.size(); ++at) {
            std::string wrong{r.name};
            wrong[at] = '#'; // in no name, so that no other variable is meant
            auto const near = config::nearest(wrong);
            bool const is_number = at + 1 == r.name.size() && r.name[at] >= '0' && r.name[at] <= '9'; // of several alike
            if (is_number) EXPECT_EQ(near.substr(0, at), r.name.substr(0, at)) << wrong;
            else if (r.name.size() > 8) EXPECT_EQ(near, r.name) << wrong;
            else EXPECT_FALSE(near.empty()) << wrong;
        }
}

TEST(config, what_the_launcher_hands_over_and_what_is_not_ours_is_left_alone) {
    EXPECT_TRUE(
        read({"MPT_BOOT=1:0:4", "MPT_BOOT_RANK=0", "MPT_TEST_MPTRUN=x", "PATH=/bin", "MPTX=1", "MPICH_OTHER=1", "=odd", "odd"})
            .warnings()
            .empty());
}

TEST(config, set_to_nothing_is_not_set_and_of_two_entries_the_first_counts) {
    EXPECT_EQ(setting_of(read({"MPT_SPIN="}), "MPT_SPIN").from, config::given::initial);
    EXPECT_EQ(setting_of(read({"MPT_SPIN=  "}), "MPT_SPIN").from, config::given::initial);
    EXPECT_EQ(read({"MPT_SPIN=1", "MPT_SPIN=2"}).get<"MPT_SPIN">(), 1u);
}

TEST(config, set_overrules_the_environment_and_checks_as_it_does) {
    auto v = read({"MPT_LANES=2"});
    v.set<"MPT_LANES">("3").set<"MPT_EAGER_MAX">("1K");
    EXPECT_EQ(v.get<"MPT_LANES">(), 3u);
    EXPECT_EQ(v.get<"MPT_EAGER_MAX">(), 1024u);
    EXPECT_EQ(setting_of(v, "MPT_LANES").from, config::given::program);
    EXPECT_THROW(v.set<"MPT_LANES">("0"), mpt::error);
    EXPECT_EQ(v.get<"MPT_LANES">(), 3u);
}

TEST(config, job_wide_values_are_a_line_each_and_local_ones_do_not_count) {
    auto const v = read({"MPT_LANES=3", "MPT_EAGER_MAX=4096"});
    auto const text = v.job_values();
    EXPECT_NE(text.find("MPT_LANES=3\n"), text.npos) << text;
    EXPECT_NE(text.find("MPT_EAGER_MAX=4K\n"), text.npos) << text;
    EXPECT_EQ(text.find("MPT_SPIN"), text.npos) << text;
    EXPECT_LE(text.size(), config::job_text_limit);
    EXPECT_EQ(v.job_hash(), read({"MPT_EAGER_MAX=4K", "MPT_LANES=3", "MPT_SPIN=1"}).job_hash());
    EXPECT_NE(v.job_hash(), read({"MPT_LANES=3"}).job_hash());
}

TEST(config, every_value_is_written_as_it_is_read) {
    std::mt19937_64 random{11}; // seed fixed: the same values in every run
    for (auto const& r : table) {
        std::vector<std::uint64_t> numbers{r.least, r.initial, r.most};
        for (int i = 0; i < 50; ++i) numbers.push_back(r.least + (r.most == r.least ? 0 : random() % (r.most - r.least + 1)));
        for (auto const n : numbers) {
            auto const written = config::format(r, config::setting{n});
            EXPECT_EQ(config::parse(r, r.name, written).number, n) << r.name << '=' << written;
        }
    }
}

TEST(config, a_set_is_any_of_its_words_with_commas_between) {
    auto const v = read({"MPICH_COLL_OPT_OFF=mpi_allgather, MPI_BCAST ,mpi_bcast"});
    auto const off = v.get<"MPT_COLL_OFF">();
    EXPECT_TRUE(off.has<"mpi_allgather">() && off.has<"mpi_bcast">());
    EXPECT_FALSE(off.has<"mpi_allgatherv">() || off.has<"mpi_barrier">());
    auto const& r = table[config::row_of("MPT_COLL_OFF")];
    EXPECT_EQ(config::format(r, setting_of(v, "MPT_COLL_OFF")), "mpi_allgather,mpi_bcast");
    EXPECT_EQ(config::format(r, config::setting{0}), "none");
    EXPECT_EQ(config::parse(r, r.name, "ALL").number, r.most);
    EXPECT_EQ(config::parse(r, r.name, "none").number, 0u);
    for (auto const* const bad : {"mpi_allgatherx", "mpi_bcast,", ",", "mpi_bcast mpi_gather", "mpi_bcast,all"}) {
        auto const said = refusal({(std::string{"MPT_COLL_OFF="} + bad).c_str()});
        EXPECT_NE(said.find("has what is none of its words; allowed: none, all, or any of mpi_barrier,"), said.npos) << said;
    }
}

TEST(config, cutoffs_of_collectives_have_the_names_that_job_scripts_carry) {
    auto const v = read({"MPICH_ALLGATHER_VSHORT_MSG=1024", "MPICH_ALLGATHERV_VSHORT_MSG=2K", "MPICH_GATHERV_SHORT_MSG=3K",
                         "MPICH_SCATTERV_SHORT_MSG=4K", "MPICH_BCAST_ONLY_TREE=1", "MPI_ALLREDUCE_NO_SMP=1",
                         "MPI_REDUCE_NO_SMP=1", "SHMEM_TEAM_SMP_REDUCE=0"});
    EXPECT_EQ(v.get<"MPT_ALLGATHER_VIA_ROOT">(), 1024u);
    EXPECT_EQ(v.get<"MPT_UNEVEN_VIA_ROOT">(), 2048u);
    EXPECT_EQ(v.get<"MPT_GATHERV_AT_ONCE">(), 3072u);
    EXPECT_EQ(v.get<"MPT_SCATTERV_AT_ONCE">(), 4096u);
    EXPECT_TRUE(v.get<"MPT_BCAST_TREE">());
    EXPECT_FALSE(v.get<"MPT_ALLREDUCE_NODE">() || v.get<"MPT_REDUCE_NODE">() || v.get<"MPT_TEAM_NODE">());
}

TEST(config, a_text_is_kept_as_it_is) {
    constexpr config::row r{"MPT_SOME_TEXT", config::form::text, 0, 0, 0, {}, config::scope::local, "a text", "a test"};
    auto const s = config::parse(r, r.name, "any=thing | at all");
    EXPECT_EQ(s.text, "any=thing | at all");
    EXPECT_EQ(config::format(r, s), s.text);
    EXPECT_EQ(config::range(r), "any text");
}

TEST(config, random_bytes_are_refused_or_read_but_never_harm) {
    std::mt19937 random{5}; // seed fixed: the same texts in every run
    for (int i = 0; i < 20'000; ++i) {
        auto const& r = table[random() % table.size()];
        std::string value(random() % 12, ' ');
        for (char& c : value) c = "0123456789KMGTiB onf-+.|#\xff"[random() % 26];
        try {
            auto const s = config::parse(r, r.name, value);
            EXPECT_TRUE(s.number >= r.least && s.number <= r.most) << r.name << '=' << value;
        } catch (mpt::error const& e) { EXPECT_NE(std::string_view{e.what()}.find(r.name), std::string_view::npos); }
    }
}

TEST(config, the_environment_of_the_process_is_read_when_asked) {
    ::setenv("MPT_HOT_PEERS", "77", 1);
    EXPECT_EQ(values::of_process().get<"MPT_HOT_PEERS">(), 77u);
    ::unsetenv("MPT_HOT_PEERS");
    EXPECT_EQ(values::of_process().get<"MPT_HOT_PEERS">(), 16u);
}

TEST(config, a_process_has_its_processors_defaults_where_nobody_says_otherwise) {
    using mpt::bytes;
    bool const buffers = mpt::processor::is_of_amd();
    EXPECT_EQ(values::of_process().get<"MPT_AWAITED_MAX">(), buffers ? values{}.get<"MPT_AWAITED_MAX">() : bytes{0});
    EXPECT_EQ(values::of_process().get<"MPT_PIPELINE_MAX">(), buffers ? values{}.get<"MPT_PIPELINE_MAX">() : bytes{0});
    EXPECT_EQ(values::of_process().get<"MPT_EAGER_READABLE">(),
              buffers ? values{}.get<"MPT_EAGER_READABLE">() : bytes{32 << 10});
    ::setenv("MPT_EAGER_READABLE", "48K", 1);
    EXPECT_EQ(values::of_process().get<"MPT_EAGER_READABLE">(), bytes{48 << 10});
    ::unsetenv("MPT_EAGER_READABLE");
    ::setenv("MPT_EAGER_MAX", "128K", 1);
    EXPECT_EQ(values::of_process().get<"MPT_EAGER_READABLE">(), values{}.get<"MPT_EAGER_READABLE">())
        << "all messages are meant";
    ::unsetenv("MPT_EAGER_MAX");
    ::setenv("MPT_AWAITED_MAX", "1M", 1);
    ::setenv("MPT_PIPELINE_MAX", "2M", 1);
    EXPECT_EQ(values::of_process().get<"MPT_AWAITED_MAX">(), bytes{1 << 20});
    EXPECT_EQ(values::of_process().get<"MPT_PIPELINE_MAX">(), bytes{2 << 20});
    ::unsetenv("MPT_AWAITED_MAX");
    ::unsetenv("MPT_PIPELINE_MAX");
}

} // namespace
