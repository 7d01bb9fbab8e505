#include <atomic>

#include <sys/mman.h>
#include <unistd.h>

#include "support/huge_pages.hpp"
#include "support/pes.hpp"

namespace {
using namespace mpt::test;
using namespace mpt::shmem;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

TEST(shmem_partition, a_value_is_traits_in_any_order) {
    auto const p = read_partition("P", "policy=m:size=2G:kind=FastMem:pgsize=2M");
    EXPECT_EQ(p, (partition_traits{2048 * mib, 2 * mib, memory_kind::fast, true}));
    EXPECT_EQ(read_partition("P", "size=1.5K:kind=N:policy=PREFERRED"),
              (partition_traits{1536, 0, memory_kind::normal, false}));
    for (auto const word : {"N", "NORMALMEM", "normalmem", "D", "DEFAULT"})
        EXPECT_EQ(read_partition("P", std::string{"size=1:kind="} + word).kind, memory_kind::normal);
    EXPECT_EQ(read_partition("P", "size=1:kind=f").kind, memory_kind::fast);
    EXPECT_EQ(read_partition("P", ""), partition_traits{});
}

TEST(shmem_partition, a_bad_value_says_what_is_wrong_and_what_is_allowed) {
    using words = std::vector<std::string>;
    std::vector<std::pair<std::string, words>> const all{
        {"kind=F", {"P=kind=F", "lacks size="}},
        {"size=0", {"size=0", "1 .. 64T"}},
        {"size=many", {"P: size=many", "1 .. 64T"}},
        {"size=1G:kind=HBM", {"kind=HBM", "NORMALMEM", "FASTMEM"}},
        {"size=1G:policy=always", {"policy=always", "MANDATORY", "PREFERRED"}},
        {"size=1G:pgsize=3M", {"pgsize=3M", "power of two"}},
        {"size=1G:pgsize=1K", {"pgsize=1K", "4K .. 64T"}},
        {"size=1G:size=2G", {"size is there twice"}},
        {"size=1G:page=4K", {"no trait \"page\"", "pgsize"}},
        {"2G", {"P=2G", "NAME=VALUE"}},
        {"size=1G::kind=F", {"NAME=VALUE"}},
        {"size=", {"NAME=VALUE"}},
    };
    for (auto const& [value, said] : all) {
        SCOPED_TRACE(value);
        try {
            read_partition("P", value);
            ADD_FAILURE() << "it was taken";
        } catch (mpt::error const& e) {
            EXPECT_EQ(e.code(), mpt::errc::configuration);
            for (auto const& word : said) EXPECT_NE(std::string{e.what()}.find(word), std::string::npos) << e.what();
        }
    }
}

TEST(shmem_partition, all_take_the_least_size_and_must_ask_for_the_same_otherwise) {
    std::array<partition_wishes, 3> pes;
    for (auto& pe : pes) pe[0].bytes = mib, pe[4] = {mib, 0, memory_kind::fast, false};
    pes[1][0].bytes = 4096, pes[2][4].bytes = 8192;
    auto const all = agree(pes);
    EXPECT_EQ(all[0].bytes, 4096u);
    EXPECT_EQ(all[4].bytes, 8192u);
    auto const differs = [&](auto const& change) {
        auto others = pes;
        change(others[2]);
        try {
            agree(others);
            ADD_FAILURE() << "they agreed";
        } catch (mpt::error const& e) {
            EXPECT_NE(std::string{e.what()}.find("partition 5 of the symmetric heap"), std::string::npos) << e.what();
            EXPECT_NE(std::string{e.what()}.find("PE 2"), std::string::npos) << e.what();
        }
    };
    differs([](auto& w) { w[4].kind = memory_kind::normal; });
    differs([](auto& w) { w[4].is_mandatory = true; });
    differs([](auto& w) { w[4].page_bytes = 4096; });
    differs([](auto& w) { w[4] = {}; });
}

TEST(shmem_partition, partitions_lie_in_one_run_and_begin_at_huge_pages) {
    partition_wishes w;
    w[0].bytes = 5000, w[3].bytes = 3 * mib, w[7].bytes = 1;
    auto const [all, bytes, alignment] = lay_out(w);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[1].id, 4);
    EXPECT_EQ(all[2].id, 8);
    EXPECT_EQ(all[0].begin, 0u);
    EXPECT_EQ(all[0].bytes, 8192u);
    EXPECT_EQ(all[1].begin, 2 * mib);
    EXPECT_EQ(all[2].begin, 6 * mib);
    EXPECT_EQ(bytes, 6 * mib + 4096);
    EXPECT_EQ(alignment, 2 * mib);
}

TEST(shmem_partition, partitions_of_the_largest_pages_are_whole_ones) {
    partition_wishes w;
    w[0].bytes = 5000, w[1].bytes = 3 * mib, w[2].bytes = mib;
    for (auto const page : {1024 * mib, 4096 * mib}) {
        w[1].page_bytes = page;
        auto const [all, bytes, alignment] = lay_out(w);
        EXPECT_EQ(all[1].begin, 1024 * mib);
        EXPECT_EQ(all[1].bytes, 3 * mib) << "what it gives is what it was asked to have";
        EXPECT_EQ(all[2].begin, 2048 * mib);
        EXPECT_EQ(alignment, 1024 * mib);
    }
    w[1].page_bytes = 512 * mib;
    EXPECT_EQ(lay_out(w).alignment, 2 * mib);
}

TEST(shmem_partition, blocks_stay_in_their_partition) {
    partition_wishes w;
    w[0].bytes = 4096, w[1].bytes = mib;
    auto const layout = lay_out(w);
    partitioned_map map{layout.partitions};
    auto const a = *map.take(1, 4096), b = *map.take(2, 100);
    EXPECT_EQ(a, 0u);
    EXPECT_EQ(b, 2 * mib);
    EXPECT_FALSE(map.take(1, 1)) << "there is room in the other only";
    EXPECT_FALSE(map.take(3, 1)) << "there is no such partition";
    EXPECT_FALSE(map.resize(a, 5000));
    EXPECT_TRUE(map.resize(b, 5000));
    EXPECT_EQ(map.size_of(b), 5056u);
    EXPECT_EQ(map.around(b + 4999)->at, b);
    EXPECT_FALSE(map.around(4096)) << "between the partitions";
    EXPECT_EQ(map.partition_of(b + 1), 2);
    EXPECT_EQ(map.used(), 4096u + 5056u);
    EXPECT_EQ(map.of(2).used(), 5056u);
    EXPECT_FALSE(map.give(b + 64));
    EXPECT_TRUE(map.give(b) && map.give(a));
    EXPECT_EQ(map.used(), 0u);
}

TEST(shmem_partition, a_block_is_aligned_as_the_heap_is_wherever_its_partition_begins) {
    partition_wishes w;
    w[0].bytes = mib, w[1].bytes = 9 * mib;
    partitioned_map map{lay_out(w).partitions};
    EXPECT_EQ(map.take(2, 1), 2 * mib);
    EXPECT_EQ(map.take(2, 1, 4 * mib), 4 * mib);
    EXPECT_EQ(map.take(2, 1, 8 * mib), 8 * mib);
    EXPECT_FALSE(map.take(2, 1, 4 * mib)) << "the next would be 12 MiB, and it ends at 11";
}

/// A machine with a node 0 of that much fast memory, and transparent pages for shared memory.
mpt::mem::offer fast_memory(std::uint64_t free) {
    mpt::mem::offer o;
    o.nodes.push_back({.id = 0, .bytes = free, .free = free, .bandwidth = 0, .is_fast = true});
    return o;
}
mpt::mem::offer large_pages() {
    mpt::mem::offer o;
    o.shared_memory = mpt::mem::transparent::when_advised, o.transparent_page = 2 * mib;
    return o;
}

/// 4 MiB of a memfd, as the arena's slices are.
struct placed : testing::Test {
    int fd = ::memfd_create("mpt-test", MFD_CLOEXEC);
    std::span<std::byte> range;
    partition p{3, {4 * mib, 0, memory_kind::fast, false}, 0, 4 * mib, memory_kind::normal, 4096, {}, no_pages};
    placed() {
        EXPECT_EQ(::ftruncate(fd, 4 << 20), 0);
        range = {static_cast<std::byte*>(::mmap(nullptr, 4 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)), 4 << 20};
    }
    ~placed() override {
        ::munmap(range.data(), range.size());
        ::close(fd);
    }
    void expect_lacks(mpt::mem::offer const& offer, int pes, std::vector<std::string> const& said) {
        auto preferred = p;
        place(preferred, range, offer, pes);
        for (auto const& word : said) EXPECT_NE(preferred.lacks.find(word), std::string::npos) << preferred.lacks;
        EXPECT_NE(preferred.lacks.find("partition 3"), std::string::npos);
        p.asked.is_mandatory = true;
        try {
            place(p, range, offer, pes);
            ADD_FAILURE() << "a mandatory partition was made";
        } catch (mpt::error const& e) {
            EXPECT_EQ(e.code(), mpt::errc::no_memory);
            for (auto const& word : said) EXPECT_NE(std::string{e.what()}.find(word), std::string::npos) << e.what();
            EXPECT_NE(std::string{e.what()}.find("MANDATORY"), std::string::npos);
        }
        p.asked.is_mandatory = false;
    }
};
using shmem_partition_place = placed;

TEST_F(shmem_partition_place, what_the_machine_lacks_is_said_or_refused) {
    expect_lacks({}, 1, {"this machine has none", "MEMKIND_HBW_NODES"});
    expect_lacks(fast_memory(7 * mib), 2, {"only 7168.0 KB", "2 PEs", "8192.0 KB"}); // 2 PEs ask for 8 MiB
    auto gone = fast_memory(99 * mib);
    gone.nodes[0].id = 1023;
    expect_lacks(gone, 1, {"does not place memory"});
    p.asked.kind = memory_kind::normal, p.asked.page_bytes = 2 * mib;
    expect_lacks({}, 1, {"pages of 2048.0 KB", "shmem_enabled"});
    p.asked.page_bytes = 1024 * mib;
    expect_lacks(large_pages(), 1, {"pages of", "up to 2048.0 KB", "hugepages-1048576kB"});
    for (auto const size : {4 * mib, 512 * mib}) { // several of those there are
        p.asked.page_bytes = size, p.page_bytes = 4096;
        place(p, range, large_pages(), 1);
        EXPECT_EQ(p.page_bytes, 2 * mib);
        EXPECT_EQ(p.lacks, "") << size;
    }
}
TEST_F(shmem_partition_place, what_is_there_is_had) {
    place(p, range, fast_memory(99 * mib), 1);
    if (p.lacks.find("not permitted") != std::string::npos) GTEST_SKIP() << p.lacks; // a container's filter
    EXPECT_EQ(p.kind, memory_kind::fast) << p.lacks;
    EXPECT_EQ(p.lacks, "");
    range[0] = std::byte{1}; // it can be touched
    partition big{1, {4 * mib, 2 * mib, memory_kind::normal, true}, 0, 4 * mib, memory_kind::normal, 4096, {}, no_pages};
    place(big, range, large_pages(), 1);
    EXPECT_EQ(big.page_bytes, 2 * mib);
    range[range.size() - 1] = std::byte{1};
}

template <class Stack> using shmem_partition_job = pes<Stack>;
TYPED_TEST_SUITE(shmem_partition_job, wires);

TYPED_TEST(shmem_partition_job, blocks_of_every_partition_are_reached_and_freed) {
    auto const v = mpt::config::values{}
                       .set<"MPT_SYMMETRIC_SIZE">("1M")
                       .template set<"MPT_SYMMETRIC_PARTITION2">("size=3M")
                       .template set<"MPT_SYMMETRIC_PARTITION7">("size=64K:policy=M");
    this->on(3, v, [&](auto& pe) {
        auto& job = pe.job();
        ASSERT_EQ(pe.memory().partitions().size(), 3u);
        EXPECT_EQ(pe.memory().partitions()[1].bytes, 3 * mib);
        auto const next = mpt::rank{(pe.me().value + 1) % 3}, before = mpt::rank{(pe.me().value + 2) % 3};
        for (int const id : {1, 2, 7}) {
            auto* const p = static_cast<long*>(job.allocate(10'000, 64, id));
            EXPECT_EQ(job.map().of(id).used(), 10'048u);
            EXPECT_TRUE(pe.memory().is_symmetric(p + 1249));
            p[1249] = 0;
            pe.barrier_all();
            pe->p(p + 1249, long{id} * 10 + pe.me(), next);
            pe->add(p + 1249, 100, next);
            pe.barrier_all();
            EXPECT_EQ(p[1249], id * 10 + 100 + before.value);
            auto* const q = static_cast<long*>(job.reallocate(p, 20'000));
            EXPECT_EQ(q[1249], id * 10 + 100 + before.value);
            EXPECT_EQ(job.block_around(q).size(), 20'000u);
            job.deallocate(q);
        }
        typename TestFixture::template array<int> some{pe, 5, {.partition = 2}};
        EXPECT_EQ(job.map().of(2).used(), 64u);
        EXPECT_EQ(job.map().used(), 64u);
        expect_error(mpt::error_class::no_mem, {"partition 7", "65536", "SHMEM_SYMMETRIC_PARTITION7"},
                     [&] { job.allocate(65'537, 8, 7); });
        expect_error(mpt::error_class::no_mem, {"no partition 3", "1, 2, 7"}, [&] { job.allocate(1, 8, 3); });
        expect_error(mpt::error_class::arg, {"different arguments"}, [&] { job.allocate(8, 8, pe.me() == 1 ? 2 : 1); });
    });
}

TYPED_TEST(shmem_partition_job, pages_of_1_gib_are_had_by_as_many_pes_as_there_are_some_for) {
    constexpr std::uint64_t page = 1024 * mib;
    for (std::uint64_t const there : {2, 1}) {
        mpt::test::huge_pages const pool{there, page};
        if (!pool.why_not().empty()) GTEST_SKIP() << pool.why_not();
        auto const v = mpt::config::values{}
                           .set<"MPT_SYMMETRIC_SIZE">("1M")
                           .template set<"MPT_SYMMETRIC_PARTITION2">("size=600M:pgsize=1G")
                           .template set<"MPT_SYMMETRIC_PARTITION3">("size=1M");
        std::atomic<unsigned> have{0};
        this->on(2, v, [&](auto& pe) {
            auto const& parts = pe.memory().partitions();
            EXPECT_EQ(parts[1].begin, page);
            EXPECT_EQ(parts[2].begin, 2 * page) << "behind whole pages";
            EXPECT_EQ(parts[1].page_bytes == page, parts[1].lacks.empty()) << parts[1].lacks;
            have += parts[1].page_bytes == page;
            auto& job = pe.job();
            auto const n = (599 * mib) / sizeof(long);
            auto* const p = static_cast<long*>(job.allocate(n * sizeof(long), 64, 2));
            p[0] = p[n - 1] = 0;
            pe.barrier_all();
            for (auto const at : {std::size_t{0}, n - 1}) {
                pe->p(p + at, 7L + pe.me().value, mpt::rank{1 - pe.me().value});
                pe->add(p + at, 100, mpt::rank{1 - pe.me().value});
            }
            pe.barrier_all();
            EXPECT_EQ(p[0], 108 - pe.me().value);
            EXPECT_EQ(p[n - 1], 108 - pe.me().value);
            if (parts[1].page_bytes == page) {
                EXPECT_EQ(mpt::mem::look_at(pe.memory().heap().subspan(page, page)).huge, page);
            }
            job.deallocate(p);
        });
        EXPECT_EQ(have, there);
        EXPECT_EQ(pool.free(page), there) << "a page was lost";
    }
}

TYPED_TEST(shmem_partition_job, a_job_whose_partitions_cannot_be_ends_on_all_pes) {
    auto const refused = [&](mpt::config::values const& v, std::vector<std::string> const& said) {
        mpt::local_job<TypeParam>(2, v, [&](mpt::environment<TypeParam>& mpi) {
            try {
                typename TestFixture::env pe{mpi.native()};
                ADD_FAILURE() << "it began";
            } catch (mpt::error const& e) {
                for (auto const& word : said) EXPECT_NE(std::string{e.what()}.find(word), std::string::npos) << e.what();
            }
        });
    };
    mpt::config::values const none;
    auto v = none;
    refused(v.set<"MPT_SYMMETRIC_PARTITION3">("size=1M:colour=red"), {"MPT_SYMMETRIC_PARTITION3", "colour"});
    v = none;
    v.template set<"MPT_SYMMETRIC_PARTITION1">("size=1M");
    refused(v.template set<"MPT_SYMMETRIC_SIZE">("2M"), {"contradict"});
    v = none;
    v.template set<"MPT_FAST_NODES">("1023");
    refused(v.template set<"MPT_SYMMETRIC_PARTITION2">("size=1M:kind=F"), {"MPT_FAST_NODES=1023: there is no node 1023"});
    v = none;
    if (!mpt::mem::look_around().fast_nodes().empty()) return;
    refused(v.template set<"MPT_SYMMETRIC_PARTITION2">("size=1M:kind=F:policy=M"), {"partition 2", "MANDATORY"});
}

} // namespace
