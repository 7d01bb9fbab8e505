// Packing and unpacking datatypes (datatype/typed.hpp) beside the loop that one writes by hand, and memcpy of as many bytes.
//
//   pack_every_second/ours/N       N bytes of doubles, each second one of an array, to one packed buffer; unpack: back
//   pack_column/ours/N             a column of doubles from a matrix with rows of 8 kB
//   pack_blocks_of_7/ours/N        56 bytes of every 96
//   pack_struct/ours/N             records {int, double, char}: 13 of 24 bytes
//   pack_irregular/ours/N          single doubles at places without a rule
//   pack_contiguous/ours/N         an array: what a datatype costs where it is none
//   piece_every_second/ours/N      the same as pack, in pieces of 4096 bytes from the last to the first
//
// From the call that makes the source or sink to the return of its read or write; cached, where N allows.
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include <mpt/datatype/typed.hpp>

#include "partner.hpp"

namespace {

using mpt::datatype;
using mpt::element_kind;
using numbers = std::vector<std::int64_t>;

auto const double_ = datatype::named(element_kind::c_double);

struct record {
    int i;
    double d;
    char c;
};

/// A layout, and the same by hand: moves `count` elements of the type.
struct subject {
    std::string name;
    datatype type;
    std::function<void(char* memory, char* packed, std::int64_t count)> pack, unpack;
};

template <bool Pack> void move(void* memory, void* packed, std::size_t n) {
    if constexpr (Pack) std::memcpy(packed, memory, n);
    else std::memcpy(memory, packed, n);
}
template <bool Pack, std::size_t Length, std::size_t Stride> void by_hand(char* memory, char* packed, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, memory += Stride, packed += Length) move<Pack>(memory, packed, Length);
}
template <bool Pack> void records_by_hand(char* memory, char* packed, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, memory += sizeof(record), packed += 13) {
        auto* const r = reinterpret_cast<record*>(memory);
        move<Pack>(&r->i, packed, 4);
        move<Pack>(&r->d, packed + 4, 8);
        move<Pack>(&r->c, packed + 12, 1);
    }
}

/// Doubles whose distances are 2, 3, 2, 5 ... by a fixed rule that the engine does not see.
numbers irregular_places(std::int64_t count) {
    numbers at(static_cast<std::size_t>(count));
    std::int64_t where = 0;
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = where, where += 2 + static_cast<std::int64_t>(i * 2654435761u % 5);
    return at;
}
template <bool Pack> void irregular_by_hand(numbers const& at, char* memory, char* packed) {
    for (auto const a : at) {
        move<Pack>(memory + a * 8, packed, 8);
        packed += 8;
    }
}

datatype strided(std::int64_t length, std::int64_t stride) {
    return datatype::resized(datatype::hvector(1, length, stride, double_), 0, stride);
}
std::vector<subject> subjects(std::int64_t bytes) {
    auto const parts = std::array{datatype::named(element_kind::c_int), double_, datatype::named(element_kind::c_char)};
    auto const at = irregular_places(bytes / 8);
    auto const n = numbers{1, 1, 1};
    return {
        {"every_second", strided(1, 16), by_hand<true, 8, 16>, by_hand<false, 8, 16>},
        {"column", strided(1, 8192), by_hand<true, 8, 8192>, by_hand<false, 8, 8192>},
        {"blocks_of_7", strided(7, 96), by_hand<true, 56, 96>, by_hand<false, 56, 96>},
        {"struct", datatype::structure(n, numbers{0, 8, 16}, parts), records_by_hand<true>, records_by_hand<false>},
        {"irregular", datatype::indexed_block(1, at, double_),
         [at](char* memory, char* packed, std::int64_t) { irregular_by_hand<true>(at, memory, packed); },
         [at](char* memory, char* packed, std::int64_t) { irregular_by_hand<false>(at, memory, packed); }},
        {"contiguous", double_, by_hand<true, 8, 8>, by_hand<false, 8, 8>},
    };
}

/// Buffers for about `bytes` packed bytes of a subject.
struct stage {
    subject s;
    std::int64_t count;
    std::vector<char> memory, packed;

    stage(subject of, std::int64_t bytes)
        : s{std::move(of)}, count{std::max<std::int64_t>(1, bytes / s.type.size())},
          memory(static_cast<std::size_t>(s.type.extent() * count)), packed(static_cast<std::size_t>(s.type.size() * count)) {
        s.type.commit();
        std::iota(memory.begin(), memory.end(), char{});
    }
    std::span<std::byte> data() { return std::as_writable_bytes(std::span{packed}); }
};

void moves(benchmark::State& state, subject const& s, auto each) {
    stage t{s, state.range(0)};
    for (auto _ : state) {
        each(t);
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(t.packed.size()));
}

void in_pieces(stage& t) {
    constexpr std::size_t piece = 4096;
    mpt::typed_source const source{t.memory.data(), t.count, t.s.type};
    for (auto at = (source.size() + piece - 1) / piece * piece; at > 0;) {
        at -= piece;
        source.read(at, t.data().subspan(at, std::min(piece, source.size() - at)));
    }
}

void add(subject const& s, std::int64_t bytes) {
    auto const with = [&](std::string const& name, auto each) {
        benchmark::RegisterBenchmark(name.c_str(), [=](auto& state) { moves(state, s, each); })->Arg(bytes);
    };
    auto const copy = [](stage& t) { std::memcpy(t.packed.data(), t.memory.data(), t.packed.size()); };
    with("pack_" + s.name + "/ours", [](stage& t) { mpt::typed_source{t.memory.data(), t.count, t.s.type}.read(0, t.data()); });
    with("pack_" + s.name + "/role:by_hand", [](stage& t) { t.s.pack(t.memory.data(), t.packed.data(), t.count); });
    with("pack_" + s.name + "/memcpy", copy);
    with("unpack_" + s.name + "/ours", [](stage& t) {
        mpt::typed_sink{t.memory.data(), t.count, t.s.type}.write(0, t.data());
    });
    with("unpack_" + s.name + "/role:by_hand", [](stage& t) { t.s.unpack(t.memory.data(), t.packed.data(), t.count); });
    if (s.name == "every_second") with("piece_" + s.name + "/ours", in_pieces);
}

} // namespace

int main(int argc, char** argv) {
    for (std::int64_t const bytes : {64, 4096, 1 << 18})
        for (auto const& s : subjects(bytes)) add(s, bytes);
    return bench::run_registered(argc, argv);
}
