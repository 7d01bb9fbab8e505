// Packing and unpacking datatypes (datatype/typed.hpp) beside the loop that one writes by hand, and memcpy of as many bytes.
//
//   pack_every_second/ours/N       N bytes of doubles, each second one of an array, to one packed buffer; unpack: back
//   pack_column/ours/N             a column of doubles from a matrix with rows of 8 kB
//   pack_blocks_of_7/ours/N        56 bytes of every 96
//   pack_blocks_of_64B/ours/N      64 bytes of every 128; of 512 and of 4096 bytes too, with gaps as long as they are
//   pack_box/ours/N                boxes of 8 x 8 x 8 doubles out of 16 x 16 x 16
//   pack_struct/ours/N             records {int, double, char}: 13 of 24 bytes
//   pack_irregular/ours/N          single doubles at places without a rule
//   pack_lengths/ours/N            one to seven doubles at places without a rule
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

/// One to seven doubles at the irregular places of blocks of eight.
numbers lengths_of(std::int64_t count) {
    numbers of(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < of.size(); ++i) of[i] = 1 + static_cast<std::int64_t>(i * 2654435761u % 7);
    return of;
}
numbers wide_places(std::int64_t count) {
    auto at = irregular_places(count);
    for (auto& a : at) a *= 4;
    return at;
}
template <bool Pack> void lengths_by_hand(numbers const& of, numbers const& at, char* memory, char* packed) {
    for (std::size_t i = 0; i < of.size(); ++i) {
        auto const n = static_cast<std::size_t>(of[i]) * 8;
        move<Pack>(memory + at[i] * 8, packed, n);
        packed += n;
    }
}

constexpr std::int64_t cube = 16, box = 8; // doubles to a side
template <bool Pack> void boxes_by_hand(char* memory, char* packed, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, memory += cube * cube * cube * 8)
        for (std::int64_t x = 4; x < 4 + box; ++x)
            for (std::int64_t y = 4; y < 4 + box; ++y, packed += box * 8)
                move<Pack>(memory + ((x * cube + y) * cube + 4) * 8, packed, box * 8);
}

datatype strided(std::int64_t length, std::int64_t stride) {
    return datatype::resized(datatype::hvector(1, length, stride, double_), 0, stride);
}
std::vector<subject> subjects(std::int64_t bytes) {
    auto const parts = std::array{datatype::named(element_kind::c_int), double_, datatype::named(element_kind::c_char)};
    auto const at = irregular_places(bytes / 8);
    auto const n = numbers{1, 1, 1};
    auto const some = lengths_of(std::max<std::int64_t>(1, bytes / 32)), wide = wide_places(std::ssize(some));
    auto const sizes = numbers{cube, cube, cube}, parts_of = numbers{box, box, box}, starts = numbers{4, 4, 4};
    return {
        {"every_second", strided(1, 16), by_hand<true, 8, 16>, by_hand<false, 8, 16>},
        {"column", strided(1, 8192), by_hand<true, 8, 8192>, by_hand<false, 8, 8192>},
        {"blocks_of_7", strided(7, 96), by_hand<true, 56, 96>, by_hand<false, 56, 96>},
        {"blocks_of_64B", strided(8, 128), by_hand<true, 64, 128>, by_hand<false, 64, 128>},
        {"blocks_of_512B", strided(64, 1024), by_hand<true, 512, 1024>, by_hand<false, 512, 1024>},
        {"blocks_of_4096B", strided(512, 8192), by_hand<true, 4096, 8192>, by_hand<false, 4096, 8192>},
        {"box", datatype::subarray(sizes, parts_of, starts, mpt::array_order::c, double_), boxes_by_hand<true>,
         boxes_by_hand<false>},
        {"struct", datatype::structure(n, numbers{0, 8, 16}, parts), records_by_hand<true>, records_by_hand<false>},
        {"irregular", datatype::indexed_block(1, at, double_),
         [at](char* memory, char* packed, std::int64_t) { irregular_by_hand<true>(at, memory, packed); },
         [at](char* memory, char* packed, std::int64_t) { irregular_by_hand<false>(at, memory, packed); }},
        {"lengths", datatype::indexed(some, wide, double_),
         [=](char* memory, char* packed, std::int64_t) { lengths_by_hand<true>(some, wide, memory, packed); },
         [=](char* memory, char* packed, std::int64_t) { lengths_by_hand<false>(some, wide, memory, packed); }},
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
