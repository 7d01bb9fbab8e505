#include <map>

#include <gtest/gtest.h>
#include <mpt/mem/wishes.hpp>

namespace {
using namespace mpt;
using mem::affinity, mem::strictness;

mem::wish of(std::vector<char const*> environment) {
    environment.push_back(nullptr);
    return mem::wish_for_allocations(config::values::read(environment.data()));
}
mem::wish hinted(mem::wish is, std::map<std::string, std::string> const& hints) {
    return with_hints(is, [&](std::string_view name) -> std::optional<std::string> {
        auto const h = hints.find(std::string{name});
        return h == hints.end() ? std::nullopt : std::optional{h->second};
    });
}

TEST(mem_wishes, are_plain_unless_somebody_asks) {
    auto const w = of({});
    EXPECT_TRUE(w.is_plain());
    EXPECT_EQ(w.policy, strictness::preferred);
    EXPECT_TRUE(mem::wish_for_internal(config::values{}).is_plain());
}

TEST(mem_wishes, every_word_of_affinity_and_policy_is_known_in_either_case) {
    for (auto const* v : {"SYS_DEFAULT", "sys_default"})
        EXPECT_EQ(of({("MPICH_ALLOC_MEM_AFFINITY=" + std::string{v}).c_str()}).kind, affinity::system) << v;
    for (auto const* v : {"DDR", "D", "ddr", "d"})
        EXPECT_EQ(of({("MPICH_ALLOC_MEM_AFFINITY=" + std::string{v}).c_str()}).kind, affinity::ddr) << v;
    for (auto const* v : {"MCDRAM", "M", "mcdram", "m"})
        EXPECT_EQ(of({("MPT_ALLOC_MEM_AFFINITY=" + std::string{v}).c_str()}).kind, affinity::mcdram) << v;
    for (auto const* v : {"Preferred", "P", "p"})
        EXPECT_EQ(of({("MPICH_ALLOC_MEM_POLICY=" + std::string{v}).c_str()}).policy, strictness::preferred) << v;
    for (auto const* v : {"Mandatory", "M", "m"})
        EXPECT_EQ(of({("MPICH_ALLOC_MEM_POLICY=" + std::string{v}).c_str()}).policy, strictness::mandatory) << v;
    for (auto const* v : {"Interleave", "I", "i"})
        EXPECT_EQ(of({("MPT_ALLOC_MEM_POLICY=" + std::string{v}).c_str()}).policy, strictness::interleave) << v;
}

TEST(mem_wishes, every_page_size_is_known_and_no_other_one) {
    std::size_t page = 2 << 20;
    EXPECT_EQ(of({"MPICH_ALLOC_MEM_PG_SZ=4K"}).page.value, 4096u);
    for (auto const* v : {"2M", "4M", "8M", "16M", "32M", "64M", "128M", "256M", "512M"}) {
        EXPECT_EQ(of({("MPICH_ALLOC_MEM_PG_SZ=" + std::string{v}).c_str()}).page.value, page) << v;
        page *= 2;
    }
    for (auto const* v : {"1M", "3M", "1G", "8K", "2"})
        EXPECT_THROW(of({("MPICH_ALLOC_MEM_PG_SZ=" + std::string{v}).c_str()}), error) << v;
}

TEST(mem_wishes, a_bad_word_is_an_error_that_lists_the_good_ones) {
    try {
        of({"MPICH_ALLOC_MEM_AFFINITY=HBM"});
        FAIL() << "was taken";
    } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::configuration);
        EXPECT_NE(std::string_view{e.what()}.find("sys_default, ddr, mcdram, d, m"), std::string_view::npos) << e.what();
    }
    EXPECT_THROW(of({"MPICH_ALLOC_MEM_POLICY=strict"}), error);
}

TEST(mem_wishes, the_librarys_own_memory_is_asked_for_apart) {
    char const* const environment[] = {"MPICH_INTERNAL_MEM_AFFINITY=M", "MPICH_ALLOC_MEM_POLICY=M", nullptr};
    auto const v = config::values::read(environment);
    EXPECT_EQ(mem::wish_for_internal(v).kind, affinity::mcdram);
    EXPECT_EQ(mem::wish_for_internal(v).policy, strictness::preferred);
    EXPECT_EQ(mem::wish_for_allocations(v).kind, affinity::system);
}

TEST(mem_wishes, a_calls_hints_come_before_the_environment_and_bad_ones_are_ignored) {
    mem::wish const env{.kind = affinity::mcdram, .policy = strictness::mandatory, .page = 2_MiB};
    auto const w = hinted(env, {{"mpt_mem_affinity", "D"}, {"mpt_mem_policy", "Interleave"}, {"mpt_mem_pg_sz", "16m"}});
    EXPECT_EQ(w.kind, affinity::ddr);
    EXPECT_EQ(w.policy, strictness::interleave);
    EXPECT_EQ(w.page.value, 16u << 20);
    auto const same =
        hinted(env, {{"mpt_mem_affinity", "HBM"}, {"mpt_mem_policy", ""}, {"mpt_mem_pg_sz", "3M"}, {"other", "D"}});
    EXPECT_EQ(same.kind, affinity::mcdram);
    EXPECT_EQ(same.policy, strictness::mandatory);
    EXPECT_EQ(same.page.value, 2u << 20);
}

TEST(mem_wishes, the_policy_counts_for_mcdram_alone) {
    for (auto const policy : {mem::strictness::preferred, mem::strictness::mandatory, mem::strictness::interleave}) {
        EXPECT_EQ(mem::settled({.kind = mem::affinity::mcdram, .policy = policy, .page = 2_MiB}).policy, policy);
        for (auto const kind : {mem::affinity::system, mem::affinity::ddr}) {
            auto const w = mem::settled({.kind = kind, .policy = policy, .page = 2_MiB});
            EXPECT_EQ(w.policy, mem::strictness::preferred);
            EXPECT_EQ(w.kind, kind);
            EXPECT_EQ(w.page.value, 2u << 20);
        }
    }
}

} // namespace
