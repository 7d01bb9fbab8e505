/// shmem/partition - partitions of the symmetric heap: runs of it, each with a size, a kind of memory and pages of its own. Cray's
/// extension.
///
///        SHMEM_SYMMETRIC_PARTITION1=size=2G                                   what shmem_malloc takes from
///        SHMEM_SYMMETRIC_PARTITION2=size=500M:kind=FASTMEM:policy=MANDATORY   shmem_kind_malloc(n, 2)
///        SHMEM_SYMMETRIC_PARTITION5=size=1G:pgsize=2M                         shmem_kind_malloc(n, 5)
///
///        heap    | 1            | 2      | 5          |        one run of memory: a comparison tells what is symmetric
///                  map            map      map                 each begins at a multiple of 2 MiB, and has a map of its own
///
///   trait    written as                                     means
///   size     bytes: 4096, 500M, 1.5G                        how long it is; must be there. The least of all PEs' counts
///   pgsize   a power of two from 4K on                      the pages to take; else the system's. 4M to 512M are several of 2M, from
///                                                           1G on they are of 1G, and the partition is whole ones
///   kind     NORMALMEM N DEFAULT D, FASTMEM F               fast: the nodes of memory with the highest bandwidth (MEMKIND_HBW_NODES
///                                                           names them; else mem/offer.hpp says who knows them)
///   policy   MANDATORY M, PREFERRED P                       what the machine lacks is an error, or (P, which is the default) is not had
///
///   Words are read in either case. Partition 1 is the heap that SHMEM_SYMMETRIC_SIZE sizes where nobody asks for another. Size, pages,
///   kind and policy are told before anything is laid out: all but the size must be the same on all PEs.
///
///   Placement  is one function, place(). Fast memory is a policy of the range (mbind), which all PEs that touch it follow. Huge pages
///              are those of the system's pool, which every PE maps over the partition before it is used, while there are enough; else
///              transparent ones (madvise). Both come in steps of 2 MiB. Pages of 1 GiB each PE has in a memory of its own, which the
///              others map by /proc/PID/fd.
///   Tests      test/shmem_partition_test.cpp    Source features of Cray SHMEM, CUG 2017 (memory partitions)
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mpt/mem/arena.hpp>
#include <mpt/shmem/heap_map.hpp>

namespace mpt::inline v0::shmem {

enum class memory_kind : std::uint8_t { normal, fast };
std::string_view to_string(memory_kind k) noexcept;

/// What a partition is asked to be.
struct partition_traits {
    std::uint64_t bytes = 0;      // 0: by what fits, for partition 1; for others: there is none
    std::uint64_t page_bytes = 0; // 0: the system's
    memory_kind kind = memory_kind::normal;
    bool is_mandatory = false;
    bool operator==(partition_traits const&) const = default;
};
inline constexpr std::size_t most_partitions = 8;
using partition_wishes = std::array<partition_traits, most_partitions>;

/// Reads "size=2G:kind=FASTMEM:policy=M", the value of a variable; empty: no such partition. Throws mpt::error(configuration), a
/// sentence with the variable, the trait, its value and what is allowed.
partition_traits read_partition(std::string_view variable, std::string_view value);

inline constexpr std::uint64_t no_pages = ~0ull;
inline constexpr std::uint64_t large_page = mem::arena::largest_page;
/// Of the system's pages of 1 GiB, if there are any.
constexpr bool wants_large(partition_traits const& t) noexcept { return t.page_bytes >= large_page; }
/// What a partition has become.
struct partition {
    int id = 1;
    partition_traits asked;
    std::uint64_t begin = 0, bytes = 0; // in the heap
    memory_kind kind = memory_kind::normal;
    std::uint64_t page_bytes = 0;
    std::string lacks;                 // a sentence, where it has not what it was asked to have
    std::uint64_t pages_at = no_pages; // of the system's pool: where in this PE's slice they begin
    mem::arena::lent_pages lent{};     // of 1 GiB, likewise
    /// Bytes of whole pages of that size; and of those that it has of the pool.
    std::uint64_t whole(std::uint64_t page) const noexcept { return (bytes + page - 1) / page * page; }
    std::uint64_t pages() const noexcept { return whole(lent ? large_page : mem::arena::huge_page); }
    bool is_of_pool() const noexcept { return lent || pages_at != no_pages; }
};

/// What all PEs take, of what each asks for: the least of their sizes. Throws mpt::error(argument) where other traits differ.
partition_wishes agree(std::span<partition_wishes const> by_pe);
/// Partitions in one run, with the bytes of the run.
struct heap_layout {
    std::vector<partition> partitions;
    std::uint64_t bytes = 0;
    std::uint64_t alignment = 1; // of its begin, a power of two
};
heap_layout lay_out(partition_wishes const& wishes);

/// Makes a range of the arena, of `pes` PEs here, what its partition asks for, and notes in it what it has become. Throws
/// mpt::error(no_memory) where the machine lacks what is mandatory.
void place(partition& p, std::span<std::byte> range, mem::offer const& here, int pes);
/// The same pages for a peer's range, which may be touched from here first.
void advise_pages(partition const& p, std::span<std::byte> range) noexcept;

/// What is taken of a heap, by partition. Offsets are those of the heap.
class partitioned_map {
    struct part {
        int id;
        std::uint64_t begin;
        heap_map map;
    };
    std::vector<part> parts_; // as they lie

public:
    explicit partitioned_map(std::span<partition const> all);

    bool has(int id) const noexcept { return find(id) != parts_.size(); }
    std::optional<std::uint64_t> take(int id, std::uint64_t n, std::uint64_t align = heap_map::grain);
    bool give(std::uint64_t offset);
    bool resize(std::uint64_t offset, std::uint64_t n);
    std::uint64_t size_of(std::uint64_t offset) const noexcept;
    std::optional<heap_map::asked_block> around(std::uint64_t offset) const noexcept;
    /// The partition that an offset of the heap is in, or follows.
    int partition_of(std::uint64_t offset) const noexcept { return parts_[at(offset)].id; }
    /// The map of a partition that there is.
    heap_map const& of(int id) const noexcept { return parts_[find(id)].map; }
    std::uint64_t used() const noexcept;

private:
    std::size_t find(int id) const noexcept;
    std::size_t at(std::uint64_t offset) const noexcept;
};

} // namespace mpt::inline v0::shmem
