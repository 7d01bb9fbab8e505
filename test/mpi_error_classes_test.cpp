#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <mpt/mpi/error_classes.hpp>

#include "support/constants.hpp"
#include "support/expect_error.hpp"

namespace {
using mpt::errc;
using mpt::error_class;
using mpt::error_registry;
using mpt::test::expect_error;

TEST(mpi_error_classes, the_classes_are_those_of_the_c_interface) {
    auto wanted = mpt::test::constants_of("error_classes");
    EXPECT_EQ(wanted["MPI_ERR_LASTCODE"], mpt::last_error_code);
    wanted.erase("MPI_ERR_LASTCODE"); // a bound, no class
    std::map<std::string, long> ours;
    for (auto const& row : mpt::error_class_rows()) ours[std::string{row.name}] = static_cast<long>(row.which);
    EXPECT_EQ(ours, wanted);
    EXPECT_EQ(mpt::test::constants_of("lengths").at("MPI_MAX_ERROR_STRING"), static_cast<long>(mpt::max_error_string));
}

TEST(mpi_error_classes, each_class_has_a_sentence_of_its_own_and_is_its_own_class) {
    error_registry const registry;
    std::set<std::string> sentences;
    std::int32_t before = -1;
    for (auto const& row : mpt::error_class_rows()) {
        auto const code = static_cast<std::int32_t>(row.which);
        EXPECT_GT(code, before) << "the rows rise";
        before = code;
        EXPECT_EQ(registry.class_of(code), code);
        auto const text = registry.text_of(code);
        EXPECT_TRUE(text.starts_with(row.name)) << text;
        EXPECT_LT(text.size(), mpt::max_error_string);
        EXPECT_FALSE(row.sentence.empty());
        EXPECT_TRUE(sentences.insert(std::string{row.sentence}).second) << "twice: " << row.sentence;
    }
}

TEST(mpi_error_classes, our_errors_belong_to_classes) {
    using mpt::error;
    EXPECT_EQ(mpt::mpi_code_of(error{errc::truncate, ""}), 15);
    EXPECT_EQ(mpt::mpi_code_of(error{errc::rank_range, ""}), 6);
    EXPECT_EQ(mpt::mpi_code_of(error{errc::tag_range, ""}), 4);
    EXPECT_EQ(mpt::mpi_code_of(error{errc::root, ""}), 8);
    EXPECT_EQ(mpt::mpi_code_of(error{errc::argument, ""}), 13);
    EXPECT_EQ(mpt::mpi_code_of(error{errc::no_memory, ""}), 39);
    EXPECT_EQ(mpt::mpi_code_of(error{errc::rma_sync, ""}), 50);
    EXPECT_EQ(mpt::mpi_code_of(error{errc::rma_range, ""}), 48);
    EXPECT_EQ(mpt::mpi_code_of(error{errc::rma_shared, ""}), 49);
    for (int c = 0; c <= static_cast<int>(errc::buffer); ++c) {
        EXPECT_NE(mpt::class_of(static_cast<errc>(c)), error_class::success);
        EXPECT_NE(mpt::class_of(static_cast<errc>(c)), error_class::unknown);
    }
    EXPECT_EQ(mpt::class_of(static_cast<errc>(255)), error_class::unknown);
}

TEST(mpi_error_classes, an_error_may_name_its_class_or_the_users_code) {
    expect_error(error_class::info_nokey, {"a sentence"}, [] { throw mpt::mpi_error{error_class::info_nokey, "a sentence"}; });
    expect_error(12345, {}, [] { throw mpt::mpi_error{12345, "a callback"}; });
}

TEST(mpi_error_classes, a_new_class_is_beyond_the_last_code_and_the_last_one_used) {
    error_registry registry;
    EXPECT_EQ(registry.last_used(), mpt::last_error_code);
    auto const c = registry.add_class();
    EXPECT_GT(c, mpt::last_error_code);
    EXPECT_EQ(registry.last_used(), c);
    EXPECT_EQ(registry.class_of(c), c);
    EXPECT_EQ(registry.text_of(c), "");
    auto const code = registry.add_code(c);
    EXPECT_EQ(registry.last_used(), code);
    EXPECT_EQ(registry.class_of(code), c);
    auto const of_standard = registry.add_code(static_cast<std::int32_t>(error_class::other));
    EXPECT_EQ(registry.class_of(of_standard), static_cast<std::int32_t>(error_class::other));
    registry.add_string(code, "first");
    registry.add_string(code, "second");
    EXPECT_EQ(registry.text_of(code), "second");
}

TEST(mpi_error_classes, a_class_goes_after_its_codes_and_both_after_their_texts) {
    error_registry registry;
    auto const c = registry.add_class(), code = registry.add_code(c);
    registry.add_string(c, "class");
    registry.add_string(code, "");
    expect_error(error_class::arg, {"still has 1 codes"}, [&] { registry.remove_class(c); });
    expect_error(error_class::arg, {"still has its text"}, [&] { registry.remove_code(code); });
    registry.remove_string(code);
    expect_error(error_class::arg, {"has no text"}, [&] { registry.remove_string(code); });
    registry.remove_code(code);
    EXPECT_EQ(registry.last_used(), c);
    expect_error(error_class::arg, {"still has its text"}, [&] { registry.remove_class(c); });
    registry.remove_string(c);
    registry.remove_class(c);
    EXPECT_EQ(registry.last_used(), mpt::last_error_code);
    expect_error(error_class::arg, {std::to_string(c).c_str()}, [&] { registry.class_of(c); });
    EXPECT_GT(registry.add_class(), code) << "no number is given out twice";
}

TEST(mpi_error_classes, what_is_the_standards_cannot_be_changed) {
    error_registry registry;
    for (std::int32_t code : {0, 15, 1001, mpt::last_error_code, -1, 63, 16384}) {
        expect_error(error_class::arg, {}, [&] { registry.remove_class(code); });
        expect_error(error_class::arg, {}, [&] { registry.remove_code(code); });
        expect_error(error_class::arg, {}, [&] { registry.remove_string(code); });
        expect_error(error_class::arg, {}, [&] { registry.add_string(code, "x"); });
    }
    for (std::int32_t code : {mpt::last_error_code, -1, 63, 16384}) {
        expect_error(error_class::arg, {}, [&] { registry.add_code(code); });
        expect_error(error_class::arg, {}, [&] { registry.class_of(code); });
        expect_error(error_class::arg, {}, [&] { registry.text_of(code); });
    }
    auto const c = registry.add_class(), code = registry.add_code(c);
    expect_error(error_class::arg, {"is no error class"}, [&] { registry.add_code(code); });
    expect_error(error_class::arg, {"no class"}, [&] { registry.remove_class(code); });
    expect_error(error_class::arg, {"is a class"}, [&] { registry.remove_code(c); });
}

TEST(mpi_error_classes, a_text_has_room_for_its_closing_zero) {
    error_registry registry;
    auto const c = registry.add_class();
    std::string const longest(mpt::max_error_string - 1, 'x');
    registry.add_string(c, longest);
    EXPECT_EQ(registry.text_of(c), longest);
    expect_error(error_class::arg, {"512", "511"}, [&] { registry.add_string(c, longest + 'x'); });
    EXPECT_EQ(registry.text_of(c), longest);
}

/// Random calls on the registry and on plain maps of what there is.
TEST(mpi_error_classes, random_calls_agree_with_a_model) {
    for (unsigned seed = 1; seed <= 50; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        error_registry registry;
        std::map<std::int32_t, std::int32_t> class_of;
        std::map<std::int32_t, std::string> text_of;
        auto const some = [&] {
            return std::uniform_int_distribution{16384, 16384 + static_cast<int>(class_of.size()) + 3}(random);
        };
        auto const agrees = [&](bool allowed, auto&& call) {
            bool done = true;
            try {
                call();
            } catch (mpt::error const&) { done = false; }
            EXPECT_EQ(done, allowed);
            return done;
        };
        for (int step = 0; step < 400; ++step) {
            auto const code = some();
            bool const there = class_of.contains(code), is_class = there && class_of[code] == code;
            auto const members = std::ranges::count_if(class_of, [&](auto const& e) { return e.second == code; });
            switch (random() % 6) {
            case 0: {
                auto const added = registry.add_class();
                class_of[added] = added;
                break;
            }
            case 1: agrees(is_class, [&] { class_of[registry.add_code(code)] = code; }); break;
            case 2:
                if (agrees(there, [&] { registry.add_string(code, std::to_string(step)); }))
                    text_of[code] = std::to_string(step);
                break;
            case 3: agrees(text_of.contains(code), [&] { registry.remove_string(code), text_of.erase(code); }); break;
            case 4:
                agrees(there && !is_class && !text_of.contains(code),
                       [&] { registry.remove_code(code), class_of.erase(code); });
                break;
            case 5:
                agrees(is_class && members == 1 && !text_of.contains(code),
                       [&] { registry.remove_class(code), class_of.erase(code); });
                break;
            }
            EXPECT_EQ(registry.last_used(), class_of.empty() ? mpt::last_error_code : class_of.rbegin()->first);
        }
        for (auto const& [code, of] : class_of) {
            EXPECT_EQ(registry.class_of(code), of);
            EXPECT_EQ(registry.text_of(code), text_of.contains(code) ? text_of[code] : "");
        }
    }
}
} // namespace
