// What a datatype is by the text of the standard: a list of (displacement, element), and marks of bounds that somebody set. Slow,
// plain, and written without looking at the engine; and random trees of constructors, built as a type and as a map at once.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <mpt/datatype/datatype.hpp>

namespace test {

using mpt::datatype;
using mpt::element_kind;
using numbers = std::vector<std::int64_t>;

struct place {
    std::int64_t at;
    element_kind kind;
};

struct typemap {
    std::vector<place> units; // of any named kind, in the order of the map
    numbers lower_marks, upper_marks;

    /// The basic elements: a pair is two.
    std::vector<place> basics() const {
        std::vector<place> all;
        for (auto const& u : units) {
            auto const& f = mpt::facts(u.kind);
            if (!f.is_pair()) all.push_back(u);
            else all.insert(all.end(), {{u.at, f.first}, {u.at + f.second_at, f.second}});
        }
        return all;
    }
    /// Where each packed byte is.
    numbers bytes() const {
        numbers all;
        for (auto const& b : basics())
            for (int i = 0; i < mpt::facts(b.kind).size; ++i) all.push_back(b.at + i);
        return all;
    }
    numbers bytes(std::int64_t count) const {
        numbers all;
        for (std::int64_t i = 0; i < count; ++i)
            for (auto const b : bytes()) all.push_back(b + i * extent());
        return all;
    }
    std::int64_t size() const { return std::ssize(bytes()); }
    std::int64_t true_lower() const {
        std::int64_t least = units.empty() ? 0 : INT64_MAX;
        for (auto const& b : basics()) least = std::min(least, b.at);
        return least;
    }
    std::int64_t true_upper() const {
        std::int64_t most = units.empty() ? 0 : INT64_MIN;
        for (auto const& b : basics()) most = std::max(most, b.at + mpt::facts(b.kind).size);
        return most;
    }
    std::int64_t lower() const {
        return lower_marks.empty() ? true_lower() : *std::min_element(lower_marks.begin(), lower_marks.end());
    }
    std::int64_t upper() const {
        if (!upper_marks.empty()) return *std::max_element(upper_marks.begin(), upper_marks.end());
        std::int64_t strictest = 1, end = true_upper();
        for (auto const& b : basics()) strictest = std::max<std::int64_t>(strictest, mpt::facts(b.kind).alignment);
        while ((end - lower()) % strictest != 0) ++end;
        return end;
    }
    std::int64_t extent() const { return upper() - lower(); }

    void append(typemap const& t, std::int64_t at) {
        for (auto const& u : t.units) units.push_back({u.at + at, u.kind});
        for (auto const m : t.lower_marks) lower_marks.push_back(m + at);
        for (auto const m : t.upper_marks) upper_marks.push_back(m + at);
    }
    typemap resized(std::int64_t lower_mark, std::int64_t e) const { return {units, {lower_mark}, {lower_mark + e}}; }
};

/// A type, its map, and its name for messages.
struct sample {
    datatype type;
    typemap map;
    std::string name;
};

inline sample basic(element_kind k) { return {datatype::named(k), {{{0, k}}, {}, {}}, std::string{mpt::facts(k).name}}; }

/// The indices of an array's elements in the order of their places: the last index runs fastest in C's order.
inline void for_each_index(numbers const& sizes, mpt::array_order order,
                           std::function<void(numbers const&, std::int64_t)> each) {
    auto const all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>{});
    for (std::int64_t linear = 0; linear < all; ++linear) {
        numbers index(sizes.size());
        auto rest = linear;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            auto const d = order == mpt::array_order::c ? sizes.size() - 1 - i : i;
            index[d] = rest % sizes[d];
            rest /= sizes[d];
        }
        each(index, linear);
    }
}

/// Of this run: what the environment says, or another one every time; printed.
inline std::uint64_t seed() {
    static auto const s = [] {
        auto const* given = std::getenv("MPT_TEST_SEED");
        auto const value = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
        std::cout << "MPT_TEST_SEED=" << value << '\n';
        return value;
    }();
    return s;
}

class random_types {
    std::mt19937_64 random_;

public:
    explicit random_types(std::uint64_t seed) : random_{seed} {}

    std::int64_t number(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>{least, most}(random_);
    }
    numbers list(std::size_t n, std::int64_t least, std::int64_t most) {
        numbers v(n);
        for (auto& x : v) x = number(least, most);
        return v;
    }
    mpt::count_form form() { return number(0, 1) == 0 ? mpt::count_form::small : mpt::count_form::large; }

    /// What grows too large to be tested byte by byte is left as what it was made of.
    sample tree(int depth) {
        if (depth == 0) return basic(static_cast<element_kind>(number(0, static_cast<int>(mpt::element_kinds) - 1)));
        auto const old = tree(depth - 1);
        auto s = around(old, depth);
        auto const fits =
            s.map.units.size() <= 400 && s.map.true_upper() - s.map.true_lower() < 300000 && std::abs(s.map.extent()) < 300000;
        return fits ? s : old;
    }

private:
    sample around(sample const& old, int depth) {
        switch (number(0, 11)) {
        case 0: return {datatype::dup(old.type), old.map, "dup(" + old.name + ")"};
        case 1: return contiguous(old);
        case 2: return vector(old, false);
        case 3: return vector(old, true);
        case 4: return indexed(old, false);
        case 5: return indexed(old, true);
        case 6: return indexed_block(old, false);
        case 7: return indexed_block(old, true);
        case 8: return structure(old, depth);
        case 9: return resized(old);
        case 10: return subarray(old);
        default: return darray(old);
        }
    }
    sample contiguous(sample const& old) {
        auto const n = number(0, 4);
        typemap m;
        for (int i = 0; i < n; ++i) m.append(old.map, i * old.map.extent());
        return {datatype::contiguous(n, old.type, form()), m, "contiguous(" + std::to_string(n) + " " + old.name + ")"};
    }
    sample vector(sample const& old, bool bytes) {
        auto const n = number(0, 5), length = number(0, 3), e = old.map.extent();
        auto const stride = bytes ? number(-60, 90) : number(-3, 5);
        typemap m;
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < length; ++j) m.append(old.map, bytes ? i * stride + j * e : (i * stride + j) * e);
        auto t = bytes ? datatype::hvector(n, length, stride, old.type, form())
                       : datatype::vector(n, length, stride, old.type, form());
        return {t, m, (bytes ? "hvector(" : "vector(") + text({n, length, stride}) + old.name + ")"};
    }
    sample indexed(sample const& old, bool bytes) {
        auto const n = static_cast<std::size_t>(number(0, 5));
        auto const lengths = list(n, 0, 3), at = bytes ? list(n, -100, 200) : list(n, -5, 12);
        typemap m;
        for (std::size_t i = 0; i < n; ++i)
            for (int j = 0; j < lengths[i]; ++j)
                m.append(old.map, at[i] * (bytes ? 1 : old.map.extent()) + j * old.map.extent());
        auto t = bytes ? datatype::hindexed(lengths, at, old.type, form()) : datatype::indexed(lengths, at, old.type, form());
        return {t, m, (bytes ? "hindexed(" : "indexed(") + text(lengths) + "at " + text(at) + old.name + ")"};
    }
    sample indexed_block(sample const& old, bool bytes) {
        auto const n = static_cast<std::size_t>(number(0, 5));
        auto const length = number(0, 3);
        auto at = bytes ? list(n, -100, 200) : list(n, -5, 12);
        if (number(0, 1) == 0) std::sort(at.begin(), at.end());
        typemap m;
        for (auto const a : at)
            for (int j = 0; j < length; ++j) m.append(old.map, a * (bytes ? 1 : old.map.extent()) + j * old.map.extent());
        auto t = bytes ? datatype::hindexed_block(length, at, old.type, form())
                       : datatype::indexed_block(length, at, old.type, form());
        return {t, m, (bytes ? "hindexed_block(" : "indexed_block(") + text({length}) + "at " + text(at) + old.name + ")"};
    }
    sample structure(sample const& old, int depth) {
        auto const n = static_cast<std::size_t>(number(0, 4));
        auto const lengths = list(n, 0, 3);
        auto at = list(n, -100, 300);
        std::vector<datatype> types;
        typemap m;
        std::string name = "structure(";
        for (std::size_t i = 0; i < n; ++i) {
            auto const t = i == 0 ? old : tree(static_cast<int>(number(0, depth - 1)));
            if (i > 0 && number(0, 2) == 0) at[i] = m.true_upper(); // touching what is there already
            types.push_back(t.type);
            for (int j = 0; j < lengths[i]; ++j) m.append(t.map, at[i] + j * t.map.extent());
            name += text({lengths[i], at[i]}) + t.name + ", ";
        }
        return {datatype::structure(lengths, at, types, form()), m, name + ")"};
    }
    sample resized(sample const& old) {
        auto const lower = number(-50, 50), e = number(0, 4) == 0 ? number(-50, 0) : number(0, 120);
        return {datatype::resized(old.type, lower, e, form()), old.map.resized(lower, e),
                "resized(" + text({lower, e}) + old.name + ")"};
    }
    mpt::array_order order() { return number(0, 1) == 0 ? mpt::array_order::c : mpt::array_order::fortran; }

    sample subarray(sample const& old) {
        auto const d = static_cast<std::size_t>(number(1, 3));
        numbers sizes = list(d, 1, 5), part(d), start(d);
        for (std::size_t i = 0; i < d; ++i) part[i] = number(1, sizes[i]), start[i] = number(0, sizes[i] - part[i]);
        auto const o = order();
        typemap m;
        for_each_index(sizes, o, [&](numbers const& index, std::int64_t linear) {
            for (std::size_t i = 0; i < d; ++i)
                if (index[i] < start[i] || index[i] >= start[i] + part[i]) return;
            m.append(old.map, linear * old.map.extent());
        });
        return {datatype::subarray(sizes, part, start, o, old.type, form()), whole_array(m, sizes, old),
                "subarray(" + text(sizes) + "part " + text(part) + "from " + text(start) + old.name + ")"};
    }
    static typemap whole_array(typemap const& m, numbers const& sizes, sample const& old) {
        return m.resized(0, std::accumulate(sizes.begin(), sizes.end(), old.map.extent(), std::multiplies<>{}));
    }
    sample darray(sample const& old) {
        auto const d = static_cast<std::size_t>(number(1, 3));
        numbers sizes = list(d, 1, 7), grid(d), argument(d), block(d);
        std::vector<mpt::distribution> how(d);
        for (std::size_t i = 0; i < d; ++i) {
            how[i] = static_cast<mpt::distribution>(number(16, 18));
            grid[i] = how[i] == mpt::distribution::none ? 1 : number(1, 3);
            auto const even = (sizes[i] + grid[i] - 1) / grid[i];
            auto const by_default = number(0, 1) == 0 || how[i] == mpt::distribution::none;
            block[i] = how[i] == mpt::distribution::none    ? sizes[i]
                       : how[i] == mpt::distribution::block ? (by_default ? even : number(even, even + 2))
                                                            : (by_default ? 1 : number(1, 4));
            argument[i] = by_default ? mpt::default_distribution : block[i];
        }
        auto const all = std::accumulate(grid.begin(), grid.end(), std::int64_t{1}, std::multiplies<>{});
        auto const rank = number(0, all - 1), o = static_cast<std::int64_t>(order());
        typemap m;
        for_each_index(sizes, mpt::array_order{static_cast<int>(o)}, [&](numbers const& index, std::int64_t linear) {
            std::int64_t owner = 0;
            for (std::size_t i = 0; i < d; ++i) owner = owner * grid[i] + index[i] / block[i] % grid[i];
            if (owner == rank) m.append(old.map, linear * old.map.extent());
        });
        auto t =
            datatype::darray(all, rank, sizes, how, argument, grid, mpt::array_order{static_cast<int>(o)}, old.type, form());
        return {t, whole_array(m, sizes, old),
                "darray(" + text({all, rank}) + text(sizes) + "blocks " + text(block) + "grid " + text(grid) + old.name + ")"};
    }
    static std::string text(numbers const& v) {
        std::string s = "[";
        for (auto const x : v) s += std::to_string(x) + " ";
        return s + "] ";
    }
};

} // namespace test
