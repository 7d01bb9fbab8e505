/// stack/group - an ordered set of world ranks, immutable and shared: what a communicator counts its ranks by.
///
///   A range (first, step, count) costs three numbers; anything else a shared table with its inverse. Groups are values: a
///   copy shares the table. MPI-4.1 section 7.2.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <mpt/core/types.hpp>

namespace mpt::inline v0 {

class group {
    struct table {
        std::vector<std::int32_t> world;                            // by rank
        std::vector<std::pair<std::int32_t, std::int32_t>> inverse; // (world, rank), sorted
    };
    std::int32_t first_ = 0, step_ = 1, count_ = 0;
    std::shared_ptr<table const> table_;

public:
    group() = default;
    static group range(std::int32_t first, std::int32_t count, std::int32_t step = 1) {
        group g;
        g.first_ = first, g.step_ = step, g.count_ = count;
        return g;
    }
    /// world[i] is the world rank of rank i; no rank occurs twice.
    static group of(std::vector<std::int32_t> world) {
        auto const n = static_cast<std::int32_t>(world.size());
        if (n == 0) return {};
        auto const step = n > 1 ? world[1] - world[0] : 1;
        bool regular = step != 0;
        for (std::int32_t i = 1; regular && i < n; ++i) regular = world[static_cast<std::size_t>(i)] == world[0] + i * step;
        if (regular) return range(world[0], n, step);
        auto t = std::make_shared<table>();
        t->inverse.reserve(world.size());
        for (std::int32_t i = 0; i < n; ++i) t->inverse.emplace_back(world[static_cast<std::size_t>(i)], i);
        std::sort(t->inverse.begin(), t->inverse.end());
        t->world = std::move(world);
        group g;
        g.count_ = n;
        g.table_ = std::move(t);
        return g;
    }

    std::int32_t size() const noexcept { return count_; }
    /// The world rank of a rank of this group. 0 <= r < size().
    rank world(std::int32_t r) const noexcept {
        return table_ ? rank{table_->world[static_cast<std::size_t>(r)]} : rank{first_ + r * step_};
    }
    /// The rank that a world rank has here, if it is in the group.
    std::optional<rank> find(rank w) const noexcept {
        if (!table_) {
            auto const d = w.value - first_;
            if (step_ == 1) [[likely]] // a division costs more than the rest of a small receive
                return static_cast<std::uint32_t>(d) < static_cast<std::uint32_t>(count_) ? std::optional{rank{d}}
                                                                                          : std::nullopt;
            if (count_ == 0 || d % step_ != 0 || d / step_ < 0 || d / step_ >= count_) return std::nullopt;
            return rank{d / step_};
        }
        auto const it = std::lower_bound(table_->inverse.begin(), table_->inverse.end(), std::pair{w.value, std::int32_t{0}});
        if (it == table_->inverse.end() || it->first != w.value) return std::nullopt;
        return rank{it->second};
    }
    friend bool operator==(group const& a, group const& b) noexcept {
        if (a.count_ != b.count_) return false;
        for (std::int32_t i = 0; i < a.count_; ++i)
            if (a.world(i) != b.world(i)) return false;
        return true;
    }
};

} // namespace mpt::inline v0
