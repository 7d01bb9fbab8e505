// More than 2^31 bytes and elements through every family, by two ranks with little memory: the pages of a block are mapped again and
// again, but for the last ones. What arrives in the wrong place, stops early or goes too far is seen. Prints what was wrong.
#include <mpi.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace {

constexpr MPI_Count period = 2 << 20;             // of the pages
constexpr MPI_Count two_gib = MPI_Count{1} << 31; // more than an int counts
constexpr MPI_Count block = two_gib + period;     // holds any of the lengths below
constexpr MPI_Count odd = two_gib + 7;            // what most messages have
constexpr MPI_Count eight_gib = MPI_Count{1} << 33;
int rank, other, failures;
char const* family = "";

void expect(bool yes, char const* what, int line) {
    if (yes) return;
    ++failures;
    std::printf("rank %d, %s, line %d: %s\n", rank, family, line, what);
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

[[noreturn]] void stop(char const* what) {
    std::perror(what);
    std::exit(1);
}

/// The byte at a place, as rank r sends it.
unsigned char byte_of(MPI_Count i, int r) {
    auto const x = static_cast<std::uint64_t>(i % period + r * 1000003) * 0x9e3779b97f4a7c15u;
    return static_cast<unsigned char>(x >> 56);
}

/// Address space of whole blocks: of each the last two periods are its own memory, and one further piece is all the others.
class region {
    MPI_Count size_;
    std::size_t blocks_;
    unsigned char* at_;

public:
    explicit region(std::size_t blocks, MPI_Count size = block)
        : size_{size}, blocks_{blocks},
          at_{static_cast<unsigned char*>(::mmap(nullptr, blocks * static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))} {
        if (at_ == MAP_FAILED) stop("address space");
        for (std::size_t b = 0; b < blocks; ++b) {
            int const file = ::memfd_create("pages", MFD_CLOEXEC);
            if (file < 0 || ::ftruncate(file, period) != 0) stop("memory");
            for (MPI_Count i = 0; i < size - 2 * period; i += period)
                if (::mmap(of(b) + i, period, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
                    stop("mmap");
            ::close(file);
        }
    }
    region(region const&) = delete;
    ~region() { ::munmap(at_, blocks_ * static_cast<std::size_t>(size_)); }

    unsigned char* of(std::size_t b) const { return at_ + b * static_cast<std::size_t>(size_); }
    /// Where memory of its own begins: at 0 (the piece), and for the last two periods.
    std::array<MPI_Count, 3> pieces() const { return {0, size_ - 2 * period, size_ - period}; }
    void fill(std::size_t b, int r) const {
        for (auto const first : pieces())
            for (MPI_Count i = 0; i < period; ++i) of(b)[first + i] = byte_of(i, r);
    }
    void clear(std::size_t b) const {
        for (auto const first : pieces()) std::memset(of(b) + first, 0, period);
    }
    /// The first n bytes of a block are rank r's, and behind them nothing was written.
    bool holds(std::size_t b, MPI_Count n, int r) const {
        for (auto const first : pieces())
            for (MPI_Count i = 0; i < period; ++i)
                if (of(b)[first + i] != (first + i < n ? byte_of(i, r) : 0)) return false;
        return true;
    }
};

void expect_count(MPI_Status const& s, MPI_Count n) {
    int small = 0;
    MPI_Count large = 0, elements = 0;
    MPI_Get_count(&s, MPI_BYTE, &small);
    MPI_Get_count_c(&s, MPI_BYTE, &large);
    MPI_Get_elements_c(&s, MPI_BYTE, &elements);
    EXPECT(small == MPI_UNDEFINED);
    EXPECT(large == n && elements == n);
}

/// Rank 0 sends by send(buffer), rank 1 receives by receive(buffer, status).
template <class Send, class Receive> void one_way(region const& r, Send send, Receive receive) {
    MPI_Status s{};
    if (rank == 0) return r.fill(0, 0), send(r.of(0));
    r.clear(0);
    receive(r.of(0), &s);
    EXPECT(r.holds(0, odd, 0));
    expect_count(s, odd);
}
void plain_receive(void* into, MPI_Status* s) { MPI_Recv_c(into, block, MPI_BYTE, 0, 1, MPI_COMM_WORLD, s); }
void wait_for(MPI_Request& r, MPI_Status* s = MPI_STATUS_IGNORE) { MPI_Wait(&r, s); }

void messages() {
    region const r{1};
    auto const c = MPI_COMM_WORLD;
    MPI_Request q = MPI_REQUEST_NULL;
    one_way(
        r, [&](void* b) { MPI_Send_c(b, odd, MPI_BYTE, 1, 1, c); }, plain_receive);
    one_way(
        r, [&](void* b) { MPI_Ssend_c(b, odd, MPI_BYTE, 1, 1, c); },
        [&](void* b, MPI_Status* s) { MPI_Irecv_c(b, odd, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, c, &q), wait_for(q, s); });
    one_way(
        r, [&](void* b) { MPI_Isend_c(b, odd, MPI_BYTE, 1, 1, c, &q), wait_for(q); },
        [&](void* b, MPI_Status* s) {
            MPI_Message m = MPI_MESSAGE_NULL;
            MPI_Mprobe(0, 1, c, &m, s);
            expect_count(*s, odd);
            MPI_Mrecv_c(b, odd, MPI_BYTE, &m, s);
        });
    one_way(
        r, [&](void* b) { MPI_Send_init_c(b, odd, MPI_BYTE, 1, 1, c, &q), MPI_Start(&q), wait_for(q), MPI_Request_free(&q); },
        [&](void* b, MPI_Status* s) {
            MPI_Recv_init_c(b, odd, MPI_BYTE, 0, 1, c, &q), MPI_Start(&q), wait_for(q, s), MPI_Request_free(&q);
        });
    region const buffer{1}; // its copy of the message begins at its front, so its pages repeat as the message's do
    if (rank == 0) MPI_Buffer_attach_c(buffer.of(0), block);
    one_way(
        r, [&](void* b) { MPI_Bsend_c(b, odd, MPI_BYTE, 1, 1, c); }, plain_receive);
    void* back = nullptr;
    MPI_Count size = 0;
    if (rank == 0) MPI_Buffer_detach_c(&back, &size), EXPECT(size == block);
}

void both_ways() {
    region const out{1}, in{1};
    auto const c = MPI_COMM_WORLD;
    MPI_Status s{};
    MPI_Request q = MPI_REQUEST_NULL;
    out.fill(0, rank), in.clear(0);
    MPI_Sendrecv_c(out.of(0), odd, MPI_BYTE, other, 1, in.of(0), block, MPI_BYTE, other, 1, c, &s);
    EXPECT(in.holds(0, odd, other));
    expect_count(s, odd);
    in.clear(0);
    MPI_Isendrecv_c(out.of(0), odd, MPI_BYTE, other, 1, in.of(0), block, MPI_BYTE, other, 1, c, &q), wait_for(q);
    EXPECT(in.holds(0, odd, other));
    in.clear(0), out.clear(0); // in the place of what goes out: what it sends is copied before anything comes
    for (auto const first : out.pieces())
        for (MPI_Count i = 0; i < period && first + i < odd; ++i) out.of(0)[first + i] = byte_of(i, rank);
    MPI_Sendrecv_replace_c(out.of(0), odd, MPI_BYTE, other, 2, other, 2, c, &s);
    EXPECT(out.holds(0, odd, other));
    expect_count(s, odd);
}

/// Between two sides of one rank each.
void sides() {
    region const out{1}, in{1};
    MPI_Comm c = MPI_COMM_NULL;
    MPI_Request q = MPI_REQUEST_NULL;
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, other, 3, &c);
    out.fill(0, rank), in.clear(0);
    auto const check = [&](MPI_Count n) { EXPECT(in.holds(0, n, other)), in.clear(0); };
    MPI_Bcast_c(rank == 1 ? out.of(0) : in.of(0), odd, MPI_BYTE, rank == 1 ? MPI_ROOT : 0, c);
    if (rank == 0) check(odd);
    MPI_Allgather_c(out.of(0), odd, MPI_BYTE, in.of(0), odd, MPI_BYTE, c), check(odd);
    MPI_Iallgather_c(out.of(0), block, MPI_BYTE, in.of(0), block, MPI_BYTE, c, &q), wait_for(q), check(block);
    MPI_Comm_free(&c);
}

void partitions() {
    region const r{1};
    MPI_Request q = MPI_REQUEST_NULL;
    MPI_Status s{};
    if (rank == 0) { // two parts of more than 31 bits each would be 4 GiB: one on this side, several over there
        r.fill(0, 0);
        MPI_Psend_init_c(r.of(0), 1, block, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &q);
        MPI_Start(&q), MPI_Pready(0, q), wait_for(q);
    } else {
        r.clear(0);
        MPI_Precv_init(r.of(0), 1025, period, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &q);
        MPI_Start(&q), wait_for(q, &s);
        EXPECT(r.holds(0, block, 0));
        expect_count(s, block);
    }
    MPI_Request_free(&q);
}

/// As many elements of four bytes.
void elements() {
    region const r{1, eight_gib + period};
    MPI_Status s{};
    MPI_Count n = 0;
    if (rank == 0) r.fill(0, 0), MPI_Send_c(r.of(0), odd, MPI_INT, 1, 1, MPI_COMM_WORLD);
    else {
        r.clear(0);
        MPI_Recv_c(r.of(0), odd + 5, MPI_INT, 0, 1, MPI_COMM_WORLD, &s);
        EXPECT(r.holds(0, 4 * odd, 0));
        MPI_Get_count_c(&s, MPI_INT, &n);
        EXPECT(n == odd);
    }
}

MPI_Datatype committed(MPI_Datatype t) { return MPI_Type_commit(&t), t; }

/// Types of more than 31 bits' bytes, displacement and extent, with counts that are small.
void datatypes() {
    auto const c = MPI_COMM_WORLD;
    region const r{2};
    MPI_Datatype whole = MPI_DATATYPE_NULL, half = MPI_DATATYPE_NULL, far = MPI_DATATYPE_NULL, lines = MPI_DATATYPE_NULL;
    MPI_Type_contiguous_c(odd, MPI_BYTE, &whole), whole = committed(whole);
    MPI_Type_contiguous(1 << 20, MPI_INT, &half), half = committed(half); // 4 MiB, 513 of them
    std::array<int, 2> const lengths{1, 1};
    std::array<MPI_Aint, 2> const places{4, block + 64};
    MPI_Type_create_hindexed(2, lengths.data(), places.data(), MPI_INT, &far), far = committed(far);
    MPI_Type_vector_c(odd / 64, 64, 96, MPI_BYTE, &lines), lines = committed(lines); // three gigabytes wide
    MPI_Count size = 0, lower = 0, extent = 0;
    MPI_Type_size_c(whole, &size);
    EXPECT(size == odd);
    int small = 0;
    MPI_Type_size(whole, &small);
    EXPECT(small == MPI_UNDEFINED);
    MPI_Type_get_extent_c(lines, &lower, &extent);
    EXPECT(extent == (odd / 64 - 1) * 96 + 64);

    r.clear(0), r.clear(1);
    if (rank == 0) r.fill(0, 0);
    MPI_Bcast(r.of(0), 1, whole, 0, c);
    EXPECT(r.holds(0, rank == 0 ? block : odd, 0));
    if (rank == 1) r.clear(0);
    MPI_Bcast(r.of(0), 513, half, 0, c);
    EXPECT(r.holds(0, rank == 0 ? block : 513 * (MPI_Count{4} << 20), 0));
    int const sent[] = {77, 78};
    if (rank == 0) {
        std::memcpy(r.of(0) + places[0], &sent[0], sizeof(int)), std::memcpy(r.of(0) + places[1], &sent[1], sizeof(int));
        MPI_Send(r.of(0), 1, far, 1, 1, c);
    } else {
        MPI_Recv(r.of(0), 1, far, 0, 1, c, MPI_STATUS_IGNORE);
        EXPECT(std::memcmp(r.of(0) + places[0], &sent[0], sizeof(int)) == 0);
        EXPECT(std::memcmp(r.of(0) + places[1], &sent[1], sizeof(int)) == 0);
    }
    region const wide{1, two_gib + two_gib / 2 + period}; // what the lines do not touch is touched by others of the same page
    if (rank == 0) wide.fill(0, 0), MPI_Send(wide.of(0), 1, lines, 1, 1, c);
    else {
        wide.clear(0);
        MPI_Status s{};
        MPI_Recv(wide.of(0), 1, lines, 0, 1, c, &s);
        MPI_Count bytes = 0;
        MPI_Get_elements_c(&s, lines, &bytes), MPI_Get_elements(&s, lines, &small);
        EXPECT(bytes == odd / 64 * 64 && small == MPI_UNDEFINED);
        for (MPI_Count i = 0; i < extent; i += 4093)
            if (i < period || i >= wide.pieces()[1]) EXPECT(i < period || wide.of(0)[i] == (i % 96 < 64 ? byte_of(i, 0) : 0));
    }
    for (auto* t : {&whole, &half, &far, &lines}) MPI_Type_free(t);
}

void packing() {
    region const from{1}, into{1};
    MPI_Count at = 0, size = 0;
    from.fill(0, rank), into.clear(0);
    MPI_Pack_size_c(odd, MPI_BYTE, MPI_COMM_WORLD, &size);
    EXPECT(size >= odd);
    MPI_Pack_c(from.of(0), odd, MPI_BYTE, into.of(0), block, &at, MPI_COMM_WORLD);
    EXPECT(at == odd && into.holds(0, odd, rank));
    from.clear(0), at = 0;
    MPI_Unpack_c(into.of(0), block, &at, from.of(0), odd, MPI_BYTE, MPI_COMM_WORLD);
    EXPECT(at == odd && from.holds(0, odd, rank));
    at = 0, into.clear(0), from.fill(0, rank);
    MPI_Pack_external_c("external32", from.of(0), odd, MPI_BYTE, into.of(0), block, &at);
    EXPECT(at == odd && into.holds(0, odd, rank));
    at = 0, from.clear(0);
    MPI_Unpack_external_c("external32", into.of(0), block, &at, from.of(0), odd, MPI_BYTE);
    EXPECT(at == odd && from.holds(0, odd, rank));
}

/// Gathers: of equal parts, and of parts that lie apart.
void gathers() {
    region const mine{1}, all{2};
    auto const c = MPI_COMM_WORLD;
    std::array<MPI_Count, 2> const counts{odd, odd};
    std::array<MPI_Aint, 2> const places{0, block};
    MPI_Request q = MPI_REQUEST_NULL;
    mine.fill(0, rank);
    auto const check = [&](bool here, MPI_Count n) {
        for (std::size_t b = 0; b < 2; ++b) {
            if (here) EXPECT(all.holds(b, n, static_cast<int>(b)));
            all.clear(b);
        }
    };
    check(false, 0);
    MPI_Gather_c(mine.of(0), block, MPI_BYTE, all.of(0), block, MPI_BYTE, 1, c), check(rank == 1, block);
    MPI_Gatherv_c(mine.of(0), odd, MPI_BYTE, all.of(0), counts.data(), places.data(), MPI_BYTE, 0, c), check(rank == 0, odd);
    MPI_Allgather_c(mine.of(0), block, MPI_BYTE, all.of(0), block, MPI_BYTE, c), check(true, block);
    MPI_Allgatherv_c(mine.of(0), odd, MPI_BYTE, all.of(0), counts.data(), places.data(), MPI_BYTE, c), check(true, odd);
    MPI_Iallgatherv_c(mine.of(0), odd, MPI_BYTE, all.of(0), counts.data(), places.data(), MPI_BYTE, c, &q);
    wait_for(q), check(true, odd);
    MPI_Datatype piece = MPI_DATATYPE_NULL; // small counts and displacements of a large type
    MPI_Type_contiguous(static_cast<int>(period), MPI_BYTE, &piece), piece = committed(piece);
    std::array<int, 2> const pieces{1025, 1025}, firsts{0, 1025};
    MPI_Allgatherv(mine.of(0), 1025, piece, all.of(0), pieces.data(), firsts.data(), piece, c), check(true, block);
    MPI_Type_free(&piece);
}

void scatters() {
    region const all{2}, mine{1};
    auto const c = MPI_COMM_WORLD;
    std::array<MPI_Count, 2> const counts{odd, odd};
    std::array<MPI_Aint, 2> const places{0, block};
    auto const check = [&](MPI_Count n) { EXPECT(mine.holds(0, n, rank)), mine.clear(0); };
    for (std::size_t b = 0; b < 2; ++b) all.fill(b, static_cast<int>(b));
    mine.clear(0);
    MPI_Scatter_c(all.of(0), block, MPI_BYTE, mine.of(0), block, MPI_BYTE, 0, c), check(block);
    MPI_Scatterv_c(all.of(0), counts.data(), places.data(), MPI_BYTE, mine.of(0), odd, MPI_BYTE, 1, c), check(odd);
    MPI_Bcast_c(all.of(0), odd, MPI_BYTE, 1, c);
    EXPECT(all.holds(0, block, 0));
}

/// Everybody's part for everybody: what rank r sends to whom is r's.
void alltoalls() {
    region const out{2}, in{2};
    auto const c = MPI_COMM_WORLD;
    std::array<MPI_Count, 2> const counts{odd, odd};
    std::array<MPI_Aint, 2> const places{0, block};
    std::array<MPI_Datatype, 2> const types{MPI_BYTE, MPI_BYTE};
    for (std::size_t b = 0; b < 2; ++b) out.fill(b, rank), in.clear(b);
    auto const check = [&](MPI_Count n) {
        for (std::size_t b = 0; b < 2; ++b) EXPECT(in.holds(b, n, static_cast<int>(b))), in.clear(b);
    };
    MPI_Alltoall_c(out.of(0), block, MPI_BYTE, in.of(0), block, MPI_BYTE, c), check(block);
    MPI_Alltoallv_c(out.of(0), counts.data(), places.data(), MPI_BYTE, in.of(0), counts.data(), places.data(), MPI_BYTE, c);
    check(odd);
    MPI_Alltoallw_c(out.of(0), counts.data(), places.data(), types.data(), in.of(0), counts.data(), places.data(), types.data(),
                    c);
    check(odd);
}

/// Everybody is everybody's neighbour.
void neighbors() {
    region const out{2}, in{2};
    MPI_Comm c = MPI_COMM_NULL;
    std::array<int, 2> const both{0, 1};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, both.data(), MPI_UNWEIGHTED, 2, both.data(), MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &c);
    std::array<MPI_Count, 2> const counts{odd, odd};
    std::array<MPI_Aint, 2> const places{0, block};
    std::array<MPI_Datatype, 2> const types{MPI_BYTE, MPI_BYTE};
    MPI_Request q = MPI_REQUEST_NULL;
    for (std::size_t b = 0; b < 2; ++b) out.fill(b, rank), in.clear(b);
    auto const check = [&](MPI_Count n) {
        for (std::size_t b = 0; b < 2; ++b) EXPECT(in.holds(b, n, static_cast<int>(b))), in.clear(b);
    };
    MPI_Neighbor_allgather_c(out.of(0), block, MPI_BYTE, in.of(0), block, MPI_BYTE, c), check(block);
    MPI_Neighbor_allgatherv_c(out.of(0), odd, MPI_BYTE, in.of(0), counts.data(), places.data(), MPI_BYTE, c), check(odd);
    MPI_Neighbor_alltoallv_c(out.of(0), counts.data(), places.data(), MPI_BYTE, in.of(0), counts.data(), places.data(),
                             MPI_BYTE, c);
    check(odd);
    MPI_Ineighbor_alltoallw_c(out.of(0), counts.data(), places.data(), types.data(), in.of(0), counts.data(), places.data(),
                              types.data(), c, &q);
    wait_for(q), check(odd);
    MPI_Comm_free(&c);
}

/// What progresses by itself, and what is made once.
void schedules() {
    region const out{2}, in{2};
    auto const c = MPI_COMM_WORLD;
    std::array<MPI_Count, 2> const counts{odd, odd};
    std::array<MPI_Aint, 2> const places{0, block};
    MPI_Request q = MPI_REQUEST_NULL;
    for (std::size_t b = 0; b < 2; ++b) out.fill(b, rank), in.clear(b);
    auto const check = [&](MPI_Count n) {
        for (std::size_t b = 0; b < 2; ++b) EXPECT(in.holds(b, n, static_cast<int>(b))), in.clear(b);
    };
    MPI_Ialltoallv_c(out.of(0), counts.data(), places.data(), MPI_BYTE, in.of(0), counts.data(), places.data(), MPI_BYTE, c,
                     &q);
    wait_for(q), check(odd);
    MPI_Allgather_init_c(out.of(0), block, MPI_BYTE, in.of(0), block, MPI_BYTE, c, MPI_INFO_NULL, &q);
    MPI_Start(&q), wait_for(q), check(block);
    MPI_Request_free(&q);
    MPI_Ibcast_c(rank == 1 ? out.of(0) : in.of(1), odd, MPI_BYTE, 1, c, &q), wait_for(q);
    if (rank == 0) EXPECT(in.holds(1, odd, 1)), in.clear(1);
    MPI_Iscatterv_c(out.of(0), counts.data(), places.data(), MPI_BYTE, in.of(0), odd, MPI_BYTE, 0, c, &q), wait_for(q);
    EXPECT(in.holds(0, odd, 0)), in.clear(0);
    MPI_Igatherv_c(out.of(0), odd, MPI_BYTE, in.of(0), counts.data(), places.data(), MPI_BYTE, 1, c, &q), wait_for(q);
    if (rank == 1) check(odd);
}

/// Of pages that come again and again: by an operation that may be done to the same bytes often.
void reductions() {
    region const mine{1}, result{1};
    auto const c = MPI_COMM_WORLD;
    auto const max = [](MPI_Count i, int last) {
        auto const a = byte_of(i, 0), b = byte_of(i, 1);
        return last == 0 || a > b ? a : b;
    };
    auto const check = [&](bool here, MPI_Count n, int last) {
        bool right = true;
        for (auto const first : result.pieces())
            for (MPI_Count i = first; here && i < first + period; ++i) right &= result.of(0)[i] == (i < n ? max(i, last) : 0);
        EXPECT(right);
        result.clear(0);
    };
    mine.fill(0, rank), result.clear(0);
    MPI_Reduce_c(mine.of(0), result.of(0), odd, MPI_UINT8_T, MPI_MAX, 1, c), check(rank == 1, odd, 1);
    MPI_Allreduce_c(mine.of(0), result.of(0), odd, MPI_UINT8_T, MPI_MAX, c), check(true, odd, 1);
    MPI_Scan_c(mine.of(0), result.of(0), odd, MPI_UINT8_T, MPI_MAX, c), check(true, odd, rank);
    MPI_Exscan_c(mine.of(0), result.of(0), odd, MPI_UINT8_T, MPI_MAX, c), check(rank == 1, odd, 0);
    std::array<MPI_Count, 2> const counts{odd, 0};
    MPI_Reduce_scatter_c(mine.of(0), result.of(0), counts.data(), MPI_UINT8_T, MPI_MAX, c), check(true, rank == 0 ? odd : 0, 1);
    region const both{2};
    both.fill(0, rank), both.fill(1, rank);
    MPI_Reduce_scatter_block_c(both.of(0), result.of(0), block, MPI_UINT8_T, MPI_MAX, c), check(true, block, 1);
    result.fill(0, 0), mine.fill(0, 1);
    MPI_Reduce_local_c(mine.of(0), result.of(0), block, MPI_UINT8_T, MPI_MAX), check(true, block, 1);
}

/// Memory of processes' own: written and read by the kernel, combined by its owner.
void windows() {
    region const mine{1}, open{1};
    MPI_Win w = MPI_WIN_NULL;
    MPI_Win_create(open.of(0), block, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    mine.fill(0, rank), open.clear(0);
    MPI_Win_fence(0, w);
    MPI_Put_c(mine.of(0), odd, MPI_BYTE, other, 0, odd, MPI_BYTE, w);
    MPI_Win_fence(0, w);
    EXPECT(open.holds(0, odd, other));
    mine.clear(0);
    MPI_Get_c(mine.of(0), odd, MPI_BYTE, other, 0, odd, MPI_BYTE, w);
    MPI_Win_fence(0, w);
    EXPECT(mine.holds(0, odd, rank));
    MPI_Datatype piece = MPI_DATATYPE_NULL; // a small count of a large type, at a displacement beyond an int's
    MPI_Type_contiguous(static_cast<int>(period), MPI_BYTE, &piece), piece = committed(piece);
    std::memset(mine.of(0), 99, 16);
    MPI_Put(mine.of(0), 16, MPI_BYTE, other, two_gib + 100, 16, MPI_BYTE, w);
    MPI_Win_fence(0, w);
    for (int i = 0; i < 16; ++i) EXPECT(open.of(0)[two_gib + 100 + i] == 99);
    MPI_Barrier(MPI_COMM_WORLD); // the other one has looked, too
    MPI_Put(mine.of(0), 1025, piece, other, 0, 1025, piece, w);
    MPI_Win_fence(0, w);
    EXPECT(open.of(0)[0] == 99 && open.of(0)[16] == byte_of(16, other) && open.of(0)[block - 1] == 0);
    mine.fill(0, rank), open.fill(0, other);
    MPI_Win_fence(0, w);
    MPI_Accumulate_c(mine.of(0), odd, MPI_UINT8_T, other, 0, odd, MPI_UINT8_T, MPI_MAX, w); // theirs has our numbers
    MPI_Win_fence(0, w);
    EXPECT(open.holds(0, block, other));
    mine.fill(0, other); // as is what we ask of them, whatever is there
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Accumulate_c(mine.of(0), odd, MPI_UINT8_T, other, 0, odd, MPI_UINT8_T, MPI_MAX, w);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w);
    bool right = true;
    for (auto const first : open.pieces())
        for (MPI_Count i = first; i < first + period; ++i) {
            auto const before = byte_of(i, other), asked = byte_of(i, rank);
            right &= open.of(0)[i] == (i < odd && asked > before ? asked : before);
        }
    EXPECT(right);
    MPI_Type_free(&piece), MPI_Win_free(&w);
}

struct part {
    char const* name;
    void (*run)();
};
constexpr part parts[]{{"messages", messages},     {"both_ways", both_ways}, {"sides", sides},
                       {"partitions", partitions}, {"elements", elements},   {"datatypes", datatypes},
                       {"packing", packing},       {"gathers", gathers},     {"scatters", scatters},
                       {"alltoalls", alltoalls},   {"neighbors", neighbors}, {"schedules", schedules},
                       {"reductions", reductions}, {"windows", windows}};

} // namespace

/// huge [FAMILY...]
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    for (auto const& p : parts) {
        bool wanted = argc == 1;
        for (int i = 1; i < argc; ++i) wanted |= std::string_view{argv[i]} == p.name;
        if (!wanted) continue;
        family = p.name;
        double const start = MPI_Wtime();
        p.run();
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) std::printf("%-11s %5.1f s\n", family, MPI_Wtime() - start);
    }
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}
