// Huge pages that the ranks of a job ask for by -m, and what the node has for them, looked at before a rank starts.
//
//        -m700h     each rank wants 700 MB of huge pages; where there are fewer free, a line says so, and base pages take their place
//        -m700hs    the same, but then nothing starts
//
//   They are pages of the system's pool of 2 MB; a rank's part is whole pages. They are reserved in the memory that the ranks share,
//   from before a rank starts until it first uses them, and what nobody used goes back with the job. Where the ranks' malloc takes of the
//   pool (HUGETLB_MORECORE, GLIBC_TUNABLES), they stay there.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include <mpt/mem/arena.hpp>
#include <mpt/mem/offer.hpp>

#include "options.hpp"

namespace mptrun {

/// "700h", "1Ghs". Throws usage_error.
page_wish pages_in(std::string_view text, std::string_view option);
/// As pages_in() reads it.
std::string print(page_wish const& w);

bool asks_for_pages(options const& o) noexcept;
/// A line for the user, without its end; empty: there are enough, or nobody asks. Throws usage_error where pages that must be are not
/// there.
std::string check_pages(options const& o, mpt::mem::offer const& here);
/// Reserves them for the ranks of the job whose memory this is; before they start. Answers as check_pages() does, for pages that went to
/// somebody else since, or that a limit of the system keeps from us.
/// `is_for_malloc`: these ranks' pages stay in the pool.
std::string reserve_pages(options const& o, mpt::mem::arena& shared, std::function<bool(part const&)> const& is_for_malloc);

/// What libhugetlbfs reads, and the modules craype-hugepages set: HUGETLB_MORECORE (yes, no, thp, a size), and which pages `yes` means
/// (HUGETLB_DEFAULT_PAGE_SIZE; empty: the system's).
struct morecore {
    std::string pages, default_size;
};
/// The same for who takes malloc's memory from glibc: what GLIBC_TUNABLES says of it then. Sizes that the machine lacks are served by its
/// next smaller pages, or by its smallest. `tunables`: as they are. Throws usage_error for another value.
std::string with_morecore(std::string_view tunables, morecore const& asked, mpt::mem::offer const& here);
/// Does glibc's malloc take of the pool by these GLIBC_TUNABLES?
bool malloc_takes_of_pool(std::string_view tunables) noexcept;

} // namespace mptrun
