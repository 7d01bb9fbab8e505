#include <algorithm>
#include <cstdlib>
#include <random>
#include <thread>

#include <mpt/mpi/info.hpp>
#include <sys/utsname.h>
#include <unistd.h>

#include "support/constants.hpp"
#include "support/expect_error.hpp"

namespace {
using mpt::error_class;
using mpt::info;
using mpt::test::expect_error;

std::vector<std::string> keys(info const& i) {
    std::vector<std::string> all;
    for (std::int32_t n = 0; n < i.size(); ++n) all.push_back(i.key(n));
    return all;
}

TEST(mpi_info, the_limits_are_those_of_the_c_interface) {
    auto const lengths = mpt::test::constants_of("lengths");
    EXPECT_EQ(lengths.at("MPI_MAX_INFO_KEY"), static_cast<long>(mpt::max_info_key));
    EXPECT_EQ(lengths.at("MPI_MAX_INFO_VAL"), static_cast<long>(mpt::max_info_value));
}

TEST(mpi_info, keys_keep_their_place_when_their_value_changes) {
    info i;
    for (auto const* key : {"c", "a", "b"}) i.set(key, "1");
    i.set("a", "2");
    EXPECT_EQ(keys(i), (std::vector<std::string>{"c", "a", "b"}));
    EXPECT_EQ(i.get("a"), "2");
    i.erase("c");
    i.set("c", "3");
    EXPECT_EQ(keys(i), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(mpi_info, texts_are_kept_as_they_come) {
    info i;
    i.set(" key ", " value ");
    i.set("Key", "");
    EXPECT_EQ(i.get(" key "), " value ");
    EXPECT_FALSE(i.get("key"));
    EXPECT_EQ(i.get("Key"), "");
    EXPECT_EQ(i.size(), 2);
}

TEST(mpi_info, a_copy_has_the_same_order_and_its_own_life) {
    info i;
    i.set("b", "1"), i.set("a", "2");
    auto copy = i;
    i.set("b", "changed"), i.erase("a");
    EXPECT_EQ(keys(copy), (std::vector<std::string>{"b", "a"}));
    EXPECT_EQ(copy.get("b"), "1");
    i = copy;
    EXPECT_EQ(keys(i), keys(copy));
}

TEST(mpi_info, a_buffer_gets_what_fits_and_the_length_that_all_needs) {
    info i;
    i.set("k", "12345");
    for (std::size_t room = 0; room <= 8; ++room) {
        std::string buffer(10, '#');
        EXPECT_EQ(i.get_string("k", {buffer.data(), room}), 6) << room;
        auto const fits = room == 0 ? 0 : std::min<std::size_t>(room - 1, 5);
        EXPECT_EQ(buffer.substr(0, fits), std::string{"12345"}.substr(0, fits));
        if (room > 0) { EXPECT_EQ(buffer[fits], '\0'); }
        EXPECT_EQ(buffer.find_first_not_of('#', room == 0 ? 0 : fits + 1), buffer.npos) << "nothing else is written";
    }
    std::string untouched(4, '#');
    EXPECT_EQ(i.get_string("other", untouched), std::nullopt);
    EXPECT_EQ(untouched, "####");
}

TEST(mpi_info, keys_and_values_have_room_for_their_closing_zero) {
    info i;
    std::string const key(mpt::max_info_key - 1, 'k'), value(mpt::max_info_value - 1, 'v');
    i.set(key, value);
    EXPECT_EQ(i.get(key), value);
    expect_error(error_class::info_value, {"1024", "1023"}, [&] { i.set("k", value + 'v'); });
    for (auto const& bad : {key + 'k', std::string{}}) {
        expect_error(error_class::info_key, {"1 to 255"}, [&] { i.set(bad, "v"); });
        expect_error(error_class::info_key, {"1 to 255"}, [&] { i.get(bad); });
        expect_error(error_class::info_key, {"1 to 255"}, [&] { i.get_string(bad, {}); });
        expect_error(error_class::info_key, {"1 to 255"}, [&] { i.erase(bad); });
    }
    EXPECT_EQ(i.size(), 1);
}

TEST(mpi_info, what_is_not_there_is_an_error_that_names_it) {
    info i;
    i.set("a", "1");
    expect_error(error_class::info_nokey, {"\"b\""}, [&] { i.erase("b"); });
    for (int n : {-1, 1, 0x7fffffff})
        expect_error(error_class::arg, {std::to_string(n).c_str(), "has 1"}, [&] { static_cast<void>(i.key(n)); });
}

TEST(mpi_info, random_calls_agree_with_a_list_of_pairs) {
    for (unsigned seed = 1; seed <= 50; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        info i;
        std::vector<std::pair<std::string, std::string>> model;
        for (int step = 0; step < 300; ++step) {
            auto const key = std::string(1, static_cast<char>('a' + random() % 12));
            auto const at = std::ranges::find(model, key, [](auto const& p) { return p.first; });
            switch (random() % 4) {
            case 0:
            case 1:
                i.set(key, std::to_string(step));
                if (at != model.end()) at->second = std::to_string(step);
                else model.emplace_back(key, std::to_string(step));
                break;
            case 2:
                if (at == model.end()) {
                    EXPECT_THROW(i.erase(key), mpt::mpi_error);
                } else i.erase(key), model.erase(at);
                break;
            case 3:
                if (random() % 8 == 0) i = info{i};
                break;
            }
            ASSERT_EQ(i.size(), std::ssize(model));
            for (std::size_t n = 0; n < model.size(); ++n) {
                ASSERT_EQ(i.key(static_cast<std::int32_t>(n)), model[n].first);
                ASSERT_EQ(i.get(model[n].first), model[n].second);
            }
        }
    }
}

TEST(mpi_info, threads_may_use_one_object_at_once) {
    info i;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&i, t] {
            auto const mine = std::to_string(t);
            for (int n = 0; n < 500; ++n) {
                i.set(mine, std::to_string(n));
                EXPECT_EQ(i.get(mine), std::to_string(n));
                EXPECT_GE(info{i}.size(), 1);
                if (n % 7 == 0) i.erase(mine);
            }
        });
    for (auto& t : threads) t.join();
    EXPECT_EQ(i.size(), 4);
}

TEST(mpi_info, the_environment_is_told_as_this_process_sees_it) {
    char const* const arguments[] = {"./solver", "-n", "7", "a b"};
    auto const i = mpt::environment_info(arguments, 12);
    EXPECT_EQ(i.get("command"), "./solver");
    EXPECT_EQ(i.get("argv"), "-n 7 a b");
    EXPECT_EQ(i.get("maxprocs"), "12");
    utsname machine{};
    ASSERT_EQ(::uname(&machine), 0);
    EXPECT_EQ(i.get("host"), machine.nodename);
    EXPECT_EQ(i.get("arch"), machine.machine);
    char folder[4096];
    ASSERT_NE(::getcwd(folder, sizeof folder), nullptr);
    EXPECT_EQ(i.get("wdir"), folder);
    EXPECT_FALSE(i.get("mpi_memory_alloc_kinds"));
    ::setenv("MPT_BOOT_MEMORY_KINDS", "system,mpi:win_allocate", 1);
    EXPECT_EQ(mpt::environment_info(arguments, 12).get("mpi_memory_alloc_kinds"), "system,mpi:win_allocate");
    ::unsetenv("MPT_BOOT_MEMORY_KINDS");
}

TEST(mpi_info, what_is_not_known_of_the_environment_or_too_long_is_left_out) {
    auto const nothing = mpt::environment_info({}, std::nullopt);
    for (auto const* key : {"command", "argv", "maxprocs", "soft", "file", "thread_level"})
        EXPECT_FALSE(nothing.get(key)) << key;
    std::string const endless(2000, 'x');
    char const* const arguments[] = {"p", endless.c_str()};
    auto const i = mpt::environment_info(arguments, std::nullopt);
    EXPECT_EQ(i.get("command"), "p");
    EXPECT_FALSE(i.get("argv"));
}

TEST(mpi_info, hints_are_read_without_the_blanks_around_them) {
    EXPECT_EQ(mpt::stripped("  a b "), "a b");
    EXPECT_EQ(mpt::stripped("   "), "");
    EXPECT_EQ(mpt::as_boolean(" true "), true);
    EXPECT_EQ(mpt::as_boolean("false"), false);
    for (auto const* text : {"True", "1", "", "tru e"}) EXPECT_EQ(mpt::as_boolean(text), std::nullopt) << text;
    EXPECT_EQ(mpt::as_integer(" +17 "), 17);
    EXPECT_EQ(mpt::as_integer("-9223372036854775808"), INT64_MIN);
    for (auto const* text : {"", "+", "- 1", "+-1", "++1", "1 2", "0x10", "9223372036854775808"})
        EXPECT_EQ(mpt::as_integer(text), std::nullopt) << text;
    EXPECT_EQ(mpt::as_list(" rar, war ,,waw"), (std::vector<std::string>{"rar", "war", "", "waw"}));
    EXPECT_EQ(mpt::as_list("one"), std::vector<std::string>{"one"});
    EXPECT_TRUE(mpt::as_list("  ").empty());
}
} // namespace
