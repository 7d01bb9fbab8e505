// Huge pages that the ranks of a job ask for by -m, and what the node has for them, looked at before a rank starts.
//
//        -m700h     each rank wants 700 MB of huge pages; where there are fewer free, a line says so, and base pages take their place
//        -m700hs    the same, but then nothing starts
//
//   They are pages of the system's pool of 2 MB; a rank's part is whole pages. Nothing is taken: who comes first has them.
#pragma once
#include <string>
#include <string_view>

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

/// HUGETLB_MORECORE of libhugetlbfs (yes, thp, a size), for who takes malloc's memory from glibc: what GLIBC_TUNABLES says of it then.
/// `tunables`: as they are. Throws usage_error for another value.
std::string with_morecore(std::string_view tunables, std::string_view morecore);

} // namespace mptrun
