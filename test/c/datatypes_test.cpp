// Chapter 5 of the C interface: random types made by its calls against the text of the standard, alone and in messages.
#include <array>
#include <functional>

#include "made_types.hpp"

namespace {

using mpt::datatype;
using mpt::element_kind;
using mpt::c::test::committed_type;
using mpt::c::test::expect_failure;
using mpt::c::test::made;
using mpt::c::test::ranks;
using mpt::c::test::thread_of_rank;
using ::test::memory;
using ::test::noise;
using ::test::numbers;
using ::test::room;
using ::test::sample;

MPI_Comm const world = MPI_COMM_WORLD;

void expect_measures(MPI_Datatype h, ::test::typemap const& m) {
    int size = -1;
    MPI_Aint lower = -1, extent = -1, true_lower = -1, true_extent = -1;
    MPI_Type_size(h, &size);
    MPI_Type_get_extent(h, &lower, &extent);
    MPI_Type_get_true_extent(h, &true_lower, &true_extent);
    EXPECT_EQ(numbers({size, lower, extent, true_lower, true_extent}),
              numbers({m.size(), m.lower(), m.extent(), m.true_lower(), m.true_upper() - m.true_lower()}));
    using measure = int (*)(MPI_Datatype, MPI_Count*);
    using bounds = int (*)(MPI_Datatype, MPI_Count*, MPI_Count*);
    for (measure f : {MPI_Type_size_c, MPI_Type_size_x}) {
        MPI_Count n = -1;
        EXPECT_EQ(f(h, &n), MPI_SUCCESS);
        EXPECT_EQ(n, m.size());
    }
    for (bounds f : {MPI_Type_get_extent_c, MPI_Type_get_extent_x}) {
        MPI_Count at = -1, reach = -1;
        EXPECT_EQ(f(h, &at, &reach), MPI_SUCCESS);
        EXPECT_EQ(numbers({at, reach}), numbers({m.lower(), m.extent()}));
    }
    for (bounds f : {MPI_Type_get_true_extent_c, MPI_Type_get_true_extent_x}) {
        MPI_Count at = -1, reach = -1;
        EXPECT_EQ(f(h, &at, &reach), MPI_SUCCESS);
        EXPECT_EQ(numbers({at, reach}), numbers({m.true_lower(), m.true_upper() - m.true_lower()}));
    }
}

/// What the large form of the questions tells; the small one must say the same where it may be asked.
void expect_contents(MPI_Datatype h, mpt::datatype_contents const& how) {
    MPI_Count i = -1, a = -1, c = -1, t = -1;
    int made_by = 0, si = -1, sa = -1, st = -1;
    ASSERT_EQ(MPI_Type_get_envelope_c(h, &i, &a, &c, &t, &made_by), MPI_SUCCESS);
    EXPECT_EQ(made_by, static_cast<int>(how.made_by));
    std::vector<int> integers(static_cast<std::size_t>(i)), small_integers = integers;
    std::vector<MPI_Aint> addresses(static_cast<std::size_t>(a)), small_addresses = addresses;
    std::vector<MPI_Count> counts(static_cast<std::size_t>(c));
    std::vector<MPI_Datatype> types(static_cast<std::size_t>(t)), small_types = types;
    ASSERT_EQ(MPI_Type_get_contents_c(h, i, a, c, t, integers.data(), addresses.data(), counts.data(), types.data()),
              MPI_SUCCESS);
    EXPECT_EQ(numbers(integers.begin(), integers.end()), how.integers);
    EXPECT_EQ(numbers(addresses.begin(), addresses.end()), how.addresses);
    EXPECT_EQ(numbers(counts.begin(), counts.end()), how.counts);
    ASSERT_EQ(types.size(), how.types.size());
    auto const small = MPI_Type_get_envelope(h, &si, &sa, &st, &made_by);
    auto const n = static_cast<int>(types.size());
    if (c > 0) {
        expect_failure(small, MPI_ERR_TYPE, {"MPI_Type_get_envelope: ", "MPI_Type_get_envelope_c"});
    } else {
        EXPECT_EQ(numbers({si, sa, st}), numbers({i, a, t}));
        ASSERT_EQ(MPI_Type_get_contents(h, si, sa, st, small_integers.data(), small_addresses.data(), small_types.data()),
                  MPI_SUCCESS);
        EXPECT_EQ(small_integers, integers);
        EXPECT_EQ(small_addresses, addresses);
    }
    for (auto* const some : {&types, &small_types})
        for (int k = 0; k < n && (*some)[static_cast<std::size_t>(k)] != nullptr; ++k) {
            auto& part = (*some)[static_cast<std::size_t>(k)];
            auto const& old = how.types[static_cast<std::size_t>(k)];
            MPI_Count size = -1;
            MPI_Type_size_c(part, &size);
            EXPECT_EQ(size, old.size());
            if (old.is_predefined()) {
                EXPECT_EQ(part, mpt::c::named_handle(old.element()));
            } else {
                EXPECT_EQ(MPI_Type_free(&part), MPI_SUCCESS);
            }
        }
}

TEST(CDatatypes, EveryConstructorGivesTheTypeOfTheStandardsTextAndTellsItsArguments) {
    auto const seed = ::test::seed();
    ranks(1, [&](int, int) {
        ::test::random_types random{seed};
        for (int i = 0; i < 800 && !::testing::Test::HasFailure(); ++i) {
            auto const s = random.tree(static_cast<int>(random.number(1, 4)));
            SCOPED_TRACE(s.name);
            committed_type const h{s.type};
            expect_measures(h, s.map);
            if (!s.type.is_predefined()) expect_contents(h, s.type.contents());
        }
    });
}

/// The same sequence of elements, each somewhere else.
sample scattered(::test::typemap const& m, ::test::random_types& random) {
    auto const basics = m.basics();
    std::vector<std::size_t> order(basics.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[static_cast<std::size_t>(random.number(0, static_cast<std::int64_t>(i) - 1))]);
    numbers at(basics.size());
    std::int64_t end = random.number(-100, 100);
    for (auto const k : order) at[k] = end, end += mpt::facts(basics[k].kind).size + random.number(0, 2) * random.number(0, 9);
    std::vector<datatype> types;
    ::test::typemap map;
    for (std::size_t k = 0; k < basics.size(); ++k) {
        types.push_back(datatype::named(basics[k].kind));
        map.units.push_back({at[k], basics[k].kind});
    }
    auto const t = datatype::structure(numbers(basics.size(), 1), at, types, random.form());
    auto const extent = random.number(0, 1) == 0 ? map.extent() : map.true_upper() - map.true_lower() + random.number(0, 20);
    return {datatype::resized(t, map.lower(), extent, random.form()), map.resized(map.lower(), extent), "scattered"};
}

struct letter {
    void* buffer;
    int count;
    MPI_Datatype type;
};

using way = std::function<MPI_Status(bool sends, letter const& l, int peer)>;

MPI_Status once(bool sends, letter const& l, int peer, decltype(&MPI_Send) send) {
    MPI_Status s{};
    EXPECT_EQ(sends ? send(l.buffer, l.count, l.type, peer, 7, world) : MPI_Recv(l.buffer, l.count, l.type, peer, 7, world, &s),
              MPI_SUCCESS);
    return s;
}
MPI_Status completed(MPI_Request r) {
    MPI_Status s{};
    EXPECT_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
    return s;
}
MPI_Status by_requests(bool sends, letter const& l, int peer) {
    MPI_Request r = MPI_REQUEST_NULL;
    sends ? MPI_Isend(l.buffer, l.count, l.type, peer, 7, world, &r) : MPI_Irecv(l.buffer, l.count, l.type, peer, 7, world, &r);
    return completed(r);
}
MPI_Status by_matched_probes(bool sends, letter const& l, int peer, bool started) {
    if (sends) return once(true, l, peer, MPI_Ssend);
    MPI_Message m = MPI_MESSAGE_NULL;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status s{};
    MPI_Mprobe(peer, 7, world, &m, MPI_STATUS_IGNORE);
    if (!started) {
        EXPECT_EQ(MPI_Mrecv(l.buffer, l.count, l.type, &m, &s), MPI_SUCCESS);
        return s;
    }
    EXPECT_EQ(MPI_Imrecv(l.buffer, l.count, l.type, &m, &r), MPI_SUCCESS);
    return completed(r);
}
MPI_Status by_persistent_requests(bool sends, letter const& l, int peer) {
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status s{};
    sends ? MPI_Send_init(l.buffer, l.count, l.type, peer, 7, world, &r)
          : MPI_Recv_init(l.buffer, l.count, l.type, peer, 7, world, &r);
    for (int round = 0; round < 2; ++round) MPI_Start(&r), MPI_Wait(&r, &s);
    MPI_Request_free(&r);
    return s;
}
MPI_Status by_sendrecv(bool sends, letter const& l, int peer) {
    MPI_Status s{}, none{};
    letter const nothing{nullptr, 0, MPI_INT};
    auto const &out = sends ? l : nothing, &in = sends ? nothing : l;
    EXPECT_EQ(MPI_Sendrecv(out.buffer, out.count, out.type, peer, 7, in.buffer, in.count, in.type, peer, 7, world, &s),
              MPI_SUCCESS);
    return sends ? none : s;
}

std::vector<way> const ways{
    [](bool sends, letter const& l, int peer) { return once(sends, l, peer, MPI_Send); },
    [](bool sends, letter const& l, int peer) { return once(sends, l, peer, MPI_Bsend); },
    by_requests,
    [](bool sends, letter const& l, int peer) { return by_matched_probes(sends, l, peer, false); },
    [](bool sends, letter const& l, int peer) { return by_matched_probes(sends, l, peer, true); },
    by_persistent_requests,
    by_sendrecv,
};

/// One message from rank 0, whose elements lie as in `from`, to rank 1, where they lie as in `to`.
void pass(int me, int sender, sample const& from, sample const& to, int count, std::uint64_t seed, way const& by) {
    auto const& mine = me == sender ? from : to;
    room const sent{from.map, count, seed};
    room here{mine.map, count, me == sender ? seed : seed + 1};
    auto const message = sent.packed();
    auto const expected = me == sender ? here.bytes : here.with(message);
    committed_type const type{mine.type};
    auto const s = by(me == sender, {here.buffer(), count, type}, 1 - me);
    EXPECT_EQ(here.bytes, expected);
    if (me == sender) return;
    int n = -1, elements = -1;
    MPI_Get_count(&s, type, &n);
    MPI_Get_elements(&s, type, &elements);
    EXPECT_EQ(n, message.empty() ? 0 : count);
    EXPECT_EQ(elements, std::ssize(to.map.basics()) * count);
}

/// Few elements, or so many that the message is of the size asked for.
int count_for(sample const& s, std::int64_t bytes) {
    return static_cast<int>(std::clamp<std::int64_t>(bytes / std::max<std::int64_t>(s.map.size(), 1), 1, 3000));
}

void exchange_random_types(int me, std::uint64_t seed, int messages, std::int64_t most_bytes) {
    ::test::random_types random{seed}; // both ranks cast the same dice
    memory attached(static_cast<std::size_t>(4 * most_bytes) + 100000);
    MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
    for (int i = 0; i < messages && !::testing::Test::HasFailure(); ++i) {
        auto const s = random.tree(static_cast<int>(random.number(0, 4)));
        auto const to = scattered(s.map, random);
        auto const count = count_for(s, random.number(0, most_bytes));
        auto const& by = ways[static_cast<std::size_t>(i) % ways.size()];
        SCOPED_TRACE(s.name + " times " + std::to_string(count) + ", way " + std::to_string(i % static_cast<int>(ways.size())));
        pass(me, 0, s, to, count, seed + static_cast<std::uint64_t>(i), by);
        if (!room{s.map, count, 0}.overlaps()) pass(me, 1, to, s, count, seed + static_cast<std::uint64_t>(i) + 5000, by);
    }
    void* back = nullptr;
    int size = 0;
    MPI_Buffer_detach(&back, &size);
}

TEST(CDatatypes, SmallMessagesOfRandomTypesArriveInOtherLayoutsByEveryWay) {
    auto const seed = ::test::seed();
    ranks(2, [&](int me, int) { exchange_random_types(me, seed, 350, 2000); });
}
TEST(CDatatypes, LargeMessagesOfRandomTypesArriveInOtherLayoutsByEveryWay) {
    auto const seed = ::test::seed();
    ranks(2, [&](int me, int) { exchange_random_types(me, seed + 1, 70, 300000); });
}

TEST(CDatatypes, WhatIsReplacedKeepsItsGaps) {
    auto const seed = ::test::seed();
    ranks(2, [&](int me, int) {
        ::test::random_types random{seed};
        for (int i = 0; i < 100; ++i) {
            auto const s = random.tree(3);
            auto const count = count_for(s, random.number(0, i % 10 == 0 ? 100000 : 1000));
            room here{s.map, count, seed + static_cast<std::uint64_t>(2 * i + me)};
            room const there{s.map, count, seed + static_cast<std::uint64_t>(2 * i + 1 - me)};
            if (here.overlaps()) continue;
            auto const expected = here.with(there.packed());
            committed_type const t{s.type};
            MPI_Request r = MPI_REQUEST_NULL;
            if (i % 2 == 0) {
                MPI_Sendrecv_replace(here.buffer(), count, t, 1 - me, 1, 1 - me, 1, world, MPI_STATUS_IGNORE);
            } else {
                MPI_Isendrecv_replace(here.buffer(), count, t, 1 - me, 1, 1 - me, 1, world, &r);
                completed(r);
            }
            ASSERT_EQ(here.bytes, expected) << s.name;
        }
    });
}

MPI_Aint address_of(void const* p) {
    MPI_Aint a = 0;
    EXPECT_EQ(MPI_Get_address(p, &a), MPI_SUCCESS);
    EXPECT_EQ(a, reinterpret_cast<MPI_Aint>(p));
    return a;
}

MPI_Datatype struct_of(std::vector<int> const& lengths, std::vector<MPI_Aint> const& at,
                       std::vector<MPI_Datatype> const& types) {
    MPI_Datatype t = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_create_struct(static_cast<int>(at.size()), lengths.data(), at.data(), types.data(), &t), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_commit(&t), MPI_SUCCESS);
    return t;
}

TEST(CDatatypes, DisplacementsFromTheBottomAreAddresses) {
    ranks(2, [](int me, int) {
        int a = me == 0 ? 5 : 0;
        std::vector<double> b(20000, me == 0 ? 2.5 : 0);
        auto t = struct_of({1, 20000}, {address_of(&a), address_of(b.data())}, {MPI_INT, MPI_DOUBLE});
        EXPECT_EQ(me == 0 ? MPI_Send(MPI_BOTTOM, 1, t, 1, 1, world)
                          : MPI_Recv(MPI_BOTTOM, 1, t, 0, 1, world, MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
        EXPECT_EQ(a, 5);
        EXPECT_EQ(b, std::vector<double>(20000, 2.5));
        MPI_Type_free(&t);
    });
}

TEST(CDatatypes, ATypeThatIsFreedGoesOnInWhatIsPending) {
    ranks(2, [](int me, int) {
        std::vector<int> v(60000);
        if (me == 0) std::iota(v.begin(), v.end(), 0);
        MPI_Datatype t = MPI_DATATYPE_NULL;
        MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Type_vector(30000, 1, 2, MPI_INT, &t);
        MPI_Type_commit(&t);
        auto const dead = t;
        if (me == 1) MPI_Irecv(v.data(), 1, t, 0, 1, world, &r[0]), MPI_Recv_init(v.data() + 1, 1, t, 0, 2, world, &r[1]);
        else MPI_Isend(v.data(), 1, t, 1, 1, world, &r[0]), MPI_Send_init(v.data() + 1, 1, t, 1, 2, world, &r[1]);
        EXPECT_EQ(MPI_Type_free(&t), MPI_SUCCESS);
        EXPECT_EQ(t, MPI_DATATYPE_NULL);
        expect_failure(MPI_Send(v.data(), 1, dead, 1 - me, 1, world), MPI_ERR_TYPE, {"datatype is 0x", "freed"});
        MPI_Start(&r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        MPI_Request_free(&r[1]);
        for (int i = 0; i < 60000; ++i) ASSERT_EQ(v[static_cast<std::size_t>(i)], i);
    });
}

TEST(CDatatypes, AMessageCutInAnElementCountsItsBasicElements) {
    ranks(1, [](int, int) {
        struct pair {
            int i;
            double d;
        };
        auto t = struct_of({1, 1}, {0, 8}, {MPI_INT, MPI_DOUBLE});
        std::array<pair, 3> out{{{1, 1.5}, {2, 2.5}, {3, 3.5}}}, in{};
        for (int doubles = 0; doubles < 2; ++doubles) { // two pairs and an int, two pairs and three ints' worth
            auto u = struct_of({2, 1, 2 * doubles}, {0, 32, 36}, {t, MPI_INT, MPI_INT});
            MPI_Send(out.data(), 1, u, 0, 1, world);
            MPI_Status s{};
            EXPECT_EQ(MPI_Recv(in.data(), 3, t, 0, 1, world, &s), MPI_SUCCESS);
            int n = 0, elements = 0;
            MPI_Get_count(&s, t, &n);
            MPI_Get_elements(&s, t, &elements);
            EXPECT_EQ(n, doubles == 0 ? MPI_UNDEFINED : 3);
            EXPECT_EQ(elements, doubles == 0 ? 5 : 6);
            EXPECT_EQ(in[1].d, 2.5);
            EXPECT_EQ(in[2].i, 3);
            MPI_Type_free(&u);
        }
        MPI_Status s{};
        for (int k = 0; k <= 6; ++k) {
            int n = -1, elements = -1;
            EXPECT_EQ(MPI_Status_set_elements(&s, t, k), MPI_SUCCESS);
            MPI_Get_elements(&s, t, &elements);
            MPI_Get_count(&s, t, &n);
            EXPECT_EQ(elements, k);
            EXPECT_EQ(n, k % 2 == 0 ? k / 2 : MPI_UNDEFINED);
        }
        MPI_Type_free(&t);
    });
}

TEST(CDatatypes, WhatDoesNotFitIsCutAtTheTypesEndAndTheGapsStay) {
    ranks(1, [](int, int) {
        std::array const out{1, 2, 3, 4, 5};
        std::array<int, 6> in{-1, -1, -1, -1, -1, -1};
        MPI_Datatype t = MPI_DATATYPE_NULL;
        MPI_Type_vector(3, 1, 2, MPI_INT, &t);
        MPI_Type_commit(&t);
        MPI_Send(out.data(), 5, MPI_INT, 0, 1, world);
        expect_failure(MPI_Recv(in.data(), 1, t, 0, 1, world, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE,
                       {"20 bytes", "room for 12"});
        EXPECT_EQ(in[1], -1);
        EXPECT_EQ(in[5], -1);
        MPI_Send(out.data(), 2, MPI_INT, 0, 1, world);
        EXPECT_EQ(MPI_Recv(in.data(), 1, t, 0, 1, world, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(in[2], 2);
        MPI_Type_free(&t);
    });
}

TEST(CDatatypes, PackedDataOfRandomTypesIsUnpackedIntoOtherLayouts) {
    auto const seed = ::test::seed();
    ranks(1, [&](int, int) {
        ::test::random_types random{seed};
        for (int i = 0; i < 400; ++i) {
            auto const s = random.tree(static_cast<int>(random.number(0, 4)));
            auto const q = scattered(s.map, random);
            auto const count = static_cast<int>(random.number(0, 4)), start = static_cast<int>(random.number(0, 9));
            SCOPED_TRACE(s.name);
            room from{s.map, count, seed}, to{q.map, count, seed + 1};
            auto const message = from.packed();
            auto const expected = to.with(message);
            committed_type const t{s.type}, u{q.type};
            int size = -1, position = start;
            MPI_Pack_size(count, t, world, &size);
            EXPECT_GE(size, std::ssize(message));
            auto packed = noise(static_cast<std::size_t>(size + start), 3);
            auto const room_of = static_cast<int>(packed.size());
            ASSERT_EQ(MPI_Pack(from.buffer(), count, t, packed.data(), room_of, &position, world), MPI_SUCCESS);
            EXPECT_EQ(position, start + std::ssize(message));
            EXPECT_TRUE(std::equal(message.begin(), message.end(), packed.begin() + start));
            memory received(packed.size());
            MPI_Sendrecv(packed.data(), position, MPI_PACKED, 0, 1, received.data(), room_of, MPI_PACKED, 0, 1, world, nullptr);
            MPI_Count at = start;
            ASSERT_EQ(MPI_Unpack_c(received.data(), room_of, &at, to.buffer(), count, u, world), MPI_SUCCESS);
            EXPECT_EQ(at, position);
            ASSERT_EQ(to.bytes, expected);
        }
    });
}

TEST(CDatatypes, TheExternalFormIsBigEndianWithoutGapsAndReadBack) {
    ranks(1, [](int, int) {
        struct record {
            int i;
            double d;
            long l;
        } const out{7, 1.5, -2};
        auto t = struct_of({1, 1, 1}, {0, 8, 16}, {MPI_INT, MPI_DOUBLE, MPI_LONG});
        MPI_Aint size = 0, position = 0;
        EXPECT_EQ(MPI_Pack_external_size("external32", 2, t, &size), MPI_SUCCESS);
        EXPECT_EQ(size, 32);
        std::array<unsigned char, 32> packed{};
        for (int i = 0; i < 2; ++i)
            EXPECT_EQ(MPI_Pack_external("external32", &out, 1, t, packed.data(), 32, &position), MPI_SUCCESS);
        EXPECT_EQ(position, 32);
        std::array<unsigned char, 16> const one{0, 0, 0, 7, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xfe};
        EXPECT_TRUE(std::equal(one.begin(), one.end(), packed.begin()));
        EXPECT_TRUE(std::equal(one.begin(), one.end(), packed.begin() + 16));
        record in{};
        MPI_Count at = 16;
        EXPECT_EQ(MPI_Unpack_external_c("external32", packed.data(), 32, &at, &in, 1, t), MPI_SUCCESS);
        EXPECT_EQ(at, 32);
        EXPECT_EQ(in.i, 7);
        EXPECT_EQ(in.d, 1.5);
        EXPECT_EQ(in.l, -2);
        long const wide = 1L << 40;
        position = 0;
        expect_failure(MPI_Pack_external("external32", &wide, 1, MPI_LONG, packed.data(), 32, &position), MPI_ERR_ARG,
                       {"1099511627776", "4 bytes"});
        EXPECT_EQ(position, 0);
        MPI_Type_free(&t);
    });
}

std::string name_of(MPI_Datatype t) {
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    EXPECT_EQ(MPI_Type_get_name(t, name, &length), MPI_SUCCESS);
    EXPECT_EQ(std::string{name}.size(), static_cast<std::size_t>(length));
    return name;
}

TEST(CDatatypes, NamesAreTheStandardsUntilTheyAreSet) {
    ranks(1, [](int, int) {
        EXPECT_EQ(name_of(MPI_DOUBLE), "MPI_DOUBLE");
        EXPECT_EQ(name_of(MPI_2INT), "MPI_2INT");
        EXPECT_EQ(name_of(MPI_UINT64_T), "MPI_UINT64_T");
        MPI_Datatype t = MPI_DATATYPE_NULL, u = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(2, MPI_INT, &t);
        EXPECT_EQ(name_of(t), "");
        MPI_Type_set_name(t, "two ints");
        MPI_Type_dup(t, &u);
        EXPECT_EQ(name_of(t), "two ints");
        EXPECT_EQ(name_of(u), "");
        MPI_Type_set_name(t, std::string(500, 'x').c_str());
        EXPECT_EQ(name_of(t), std::string(MPI_MAX_OBJECT_NAME - 1, 'x'));
        MPI_Type_set_name(MPI_INT, "number");
        EXPECT_EQ(name_of(MPI_INT), "number");
        MPI_Type_free(&t), MPI_Type_free(&u);
    });
}

TEST(CDatatypes, ADuplicateIsCommittedWhereItsOriginalIs) {
    ranks(1, [](int, int) {
        int x[3] = {};
        MPI_Datatype t = MPI_DATATYPE_NULL, early = MPI_DATATYPE_NULL, late = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(3, MPI_INT, &t);
        MPI_Type_dup(t, &early);
        EXPECT_EQ(MPI_Type_commit(&t), MPI_SUCCESS);
        EXPECT_EQ(MPI_Type_commit(&t), MPI_SUCCESS);
        MPI_Type_dup(t, &late);
        MPI_Type_free(&t);
        expect_failure(MPI_Send(x, 1, early, MPI_PROC_NULL, 1, world), MPI_ERR_TYPE, {"not committed"});
        EXPECT_EQ(MPI_Send(x, 1, late, MPI_PROC_NULL, 1, world), MPI_SUCCESS);
        MPI_Datatype predefined = MPI_INT;
        EXPECT_EQ(MPI_Type_commit(&predefined), MPI_SUCCESS);
        MPI_Type_free(&early), MPI_Type_free(&late);
    });
}

/// The same call gives the same layout, but what a program says of one type is said of no other.
TEST(CDatatypes, TypesOfTheSameCallAreObjectsOfTheirOwn) {
    ranks(1, [](int, int) {
        int keyval = MPI_KEYVAL_INVALID, found = -1, length = 0;
        MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &keyval, nullptr);
        MPI_Datatype first = MPI_DATATYPE_NULL, second = MPI_DATATYPE_NULL;
        MPI_Type_vector(3, 1, 2, MPI_INT, &first);
        MPI_Type_commit(&first);
        MPI_Type_set_name(first, "first");
        MPI_Type_set_attr(first, keyval, &found);
        MPI_Type_vector(3, 1, 2, MPI_INT, &second);
        EXPECT_NE(first, second);
        char name[MPI_MAX_OBJECT_NAME] = "?";
        MPI_Type_get_name(second, name, &length);
        EXPECT_STREQ(name, "");
        void* value = nullptr;
        MPI_Type_get_attr(second, keyval, &value, &found);
        EXPECT_EQ(found, 0);
        std::array<int, 8> const x{1, 2, 3, 4, 5, 6, 7, 8};
        expect_failure(MPI_Send(x.data(), 1, second, MPI_PROC_NULL, 1, world), MPI_ERR_TYPE, {"not committed"});
        MPI_Type_commit(&second);
        MPI_Type_free(&first);
        std::array<int, 3> packed{};
        int at = 0;
        MPI_Pack(x.data(), 1, second, packed.data(), sizeof packed, &at, world);
        EXPECT_EQ(packed, (std::array{1, 3, 5}));
        MPI_Type_free(&second);
        MPI_Type_free_keyval(&keyval);
    });
}

/// Calls that differ in one thing only, again and again, by threads at once.
TEST(CDatatypes, CallsThatDifferInOneThingGiveTypesThatDo) {
    ranks(1, [](int, int) {
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t)
            threads.push_back(thread_of_rank([] {
                for (int round = 0; round < 300; ++round)
                    for (auto const [count, length, stride] : {std::array{2, 1, 3}, {3, 1, 3}, {2, 2, 3}, {2, 1, 4}, {3, 1, 2}})
                        for (auto const old : {MPI_INT, MPI_DOUBLE}) {
                            MPI_Datatype row = MPI_DATATYPE_NULL, rows = MPI_DATATYPE_NULL, wide = MPI_DATATYPE_NULL;
                            MPI_Type_vector(count, length, stride, old, &row);
                            MPI_Type_create_resized(row, 0, 1000, &wide);
                            MPI_Type_create_hvector(2, 1, 1000, row, &rows);
                            MPI_Type_free(&row);
                            int const unit = old == MPI_INT ? 4 : 8;
                            int size = 0;
                            MPI_Aint lower = -1, extent = -1, reach = -1;
                            MPI_Type_size(rows, &size);
                            MPI_Type_get_extent(rows, &lower, &extent);
                            MPI_Type_get_extent(wide, &lower, &reach);
                            EXPECT_EQ(size, 2 * count * length * unit);
                            EXPECT_EQ(extent, 1000 + ((count - 1) * stride + length) * unit);
                            EXPECT_EQ(reach, 1000);
                            MPI_Type_free(&rows), MPI_Type_free(&wide);
                        }
            }));
        for (auto& t : threads) t.join();
    });
}

TEST(CDatatypes, FortransKindsAreOneHandleForEachPrecisionAndRange) {
    ranks(1, [](int, int) {
        MPI_Datatype a = MPI_DATATYPE_NULL, b = MPI_DATATYPE_NULL, c = MPI_DATATYPE_NULL;
        int size = 0;
        for (auto const [p, r, wanted] : {std::array{6, 37, 4},
                                          {7, 37, 8},
                                          {6, 38, 8},
                                          {15, 307, 8},
                                          {16, 307, 16},
                                          {33, 4931, 16},
                                          {MPI_UNDEFINED, 300, 8},
                                          {15, MPI_UNDEFINED, 8}}) {
            EXPECT_EQ(MPI_Type_create_f90_real(p, r, &a), MPI_SUCCESS);
            MPI_Type_create_f90_real(p, r, &b);
            EXPECT_EQ(a, b);
            MPI_Type_size(a, &size);
            EXPECT_EQ(size, wanted) << p << ' ' << r;
            MPI_Type_create_f90_complex(p, r, &c);
            EXPECT_NE(a, c);
            MPI_Type_size(c, &size);
            EXPECT_EQ(size, 2 * wanted);
        }
        for (auto const [r, wanted] : {std::array{2, 1}, {3, 2}, {9, 4}, {10, 8}, {18, 8}, {19, 16}}) {
            EXPECT_EQ(MPI_Type_create_f90_integer(r, &a), MPI_SUCCESS);
            MPI_Type_size(a, &size);
            EXPECT_EQ(size, wanted) << r;
        }
        double x = 3, y = 0;
        MPI_Type_create_f90_real(15, 307, &a);
        MPI_Sendrecv(&x, 1, a, 0, 1, &y, 1, a, 0, 1, world, MPI_STATUS_IGNORE); // it needs no commit
        EXPECT_EQ(y, 3);
        int values[2] = {}, integers = 0, addresses = 0, types = 0, made_by = 0;
        MPI_Type_get_envelope(a, &integers, &addresses, &types, &made_by);
        EXPECT_EQ(made_by, MPI_COMBINER_F90_REAL);
        EXPECT_EQ(numbers({integers, addresses, types}), numbers({2, 0, 0}));
        EXPECT_EQ(MPI_Type_get_contents(a, 2, 0, 0, values, nullptr, nullptr), MPI_SUCCESS);
        EXPECT_EQ(values[0], 15);
        EXPECT_EQ(values[1], 307);
        MPI_Type_contiguous(3, a, &b);
        EXPECT_EQ(MPI_Type_get_contents(b, 1, 0, 1, values, nullptr, &c), MPI_SUCCESS);
        EXPECT_EQ(c, a);
        expect_failure(MPI_Type_free(&c), MPI_ERR_TYPE, {"predefined"});
        MPI_Type_free(&b);
        expect_failure(MPI_Type_create_f90_real(34, 10, &a), MPI_ERR_ARG, {"p = 34"});
        expect_failure(MPI_Type_create_f90_complex(MPI_UNDEFINED, MPI_UNDEFINED, &a), MPI_ERR_ARG, {"MPI_UNDEFINED"});
        expect_failure(MPI_Type_create_f90_integer(39, &a), MPI_ERR_ARG, {"r = 39", "38"});
    });
}

TEST(CDatatypes, PredefinedTypesAreFoundByClassAndSizeAndAsPairs) {
    ranks(1, [](int, int) {
        MPI_Datatype t = MPI_DATATYPE_NULL;
        for (auto const& [what, size, wanted] : {std::tuple{MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},
                                                 {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
                                                 {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
                                                 {MPIX_TYPECLASS_LOGICAL, 1, MPI_LOGICAL1}}) {
            EXPECT_EQ(MPI_Type_match_size(what, size, &t), MPI_SUCCESS);
            EXPECT_EQ(t, wanted);
        }
        expect_failure(MPI_Type_match_size(MPI_TYPECLASS_REAL, 5, &t), MPI_ERR_ARG, {"5 bytes"});
        expect_failure(MPI_Type_match_size(17, 4, &t), MPI_ERR_ARG, {"typeclass is 17", "MPI_TYPECLASS_REAL"});
        for (auto const& [value, pair] : {std::pair{MPI_FLOAT, MPI_FLOAT_INT},
                                          {MPI_DOUBLE, MPI_DOUBLE_INT},
                                          {MPI_LONG, MPI_LONG_INT},
                                          {MPI_INT, MPI_2INT},
                                          {MPI_SHORT, MPI_SHORT_INT},
                                          {MPI_LONG_DOUBLE, MPI_LONG_DOUBLE_INT},
                                          {MPI_CHAR, MPI_DATATYPE_NULL}}) {
            EXPECT_EQ(MPI_Type_get_value_index(value, MPI_INT, &t), MPI_SUCCESS);
            EXPECT_EQ(t, pair);
            MPI_Type_get_value_index(value, MPI_FLOAT, &t);
            EXPECT_EQ(t, MPI_DATATYPE_NULL);
        }
    });
}

TEST(CDatatypes, SizesBeyondAnIntAreUndefinedInTheSmallForm) {
    ranks(1, [](int, int) {
        MPI_Datatype t = MPI_DATATYPE_NULL;
        EXPECT_EQ(MPI_Type_contiguous_c(MPI_Count{1} << 40, MPI_INT, &t), MPI_SUCCESS);
        int size = 0;
        MPI_Count wide = 0;
        EXPECT_EQ(MPI_Type_size(t, &size), MPI_SUCCESS);
        EXPECT_EQ(size, MPI_UNDEFINED);
        MPI_Type_size_c(t, &wide);
        EXPECT_EQ(wide, MPI_Count{1} << 42);
        MPI_Pack_size(1, t, world, &size);
        EXPECT_EQ(size, MPI_UNDEFINED);
        MPI_Pack_size_c(MPI_Count{1} << 30, t, world, &wide);
        EXPECT_EQ(wide, MPI_UNDEFINED);
        MPI_Datatype u = MPI_DATATYPE_NULL;
        expect_failure(MPI_Type_contiguous_c(MPI_Count{1} << 40, t, &u), MPI_ERR_ARG, {"too large"});
        EXPECT_EQ(u, MPI_DATATYPE_NULL);
        MPI_Type_free(&t);
    });
}

TEST(CDatatypes, BadArgumentsOfConstructorsAreRefused) {
    ranks(1, [](int, int) {
        MPI_Datatype t = MPI_DATATYPE_NULL;
        int const one[2] = {1, 1}, minus[2] = {1, -1}, four[2] = {4, 4}, five[2] = {5, 5};
        MPI_Aint const at[2] = {0, 8};
        MPI_Datatype const types[2] = {MPI_INT, MPI_DATATYPE_NULL};
        expect_failure(MPI_Type_contiguous(-1, MPI_INT, &t), MPI_ERR_COUNT, {"count is -1"});
        expect_failure(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &t), MPI_ERR_TYPE, {"oldtype is MPI_DATATYPE_NULL"});
        expect_failure(MPI_Type_contiguous(1, MPI_INT, nullptr), MPI_ERR_ARG, {"newtype is a null pointer"});
        expect_failure(MPI_Type_vector(2, -3, 1, MPI_INT, &t), MPI_ERR_COUNT, {"blocklength is -3"});
        expect_failure(MPI_Type_indexed(2, minus, one, MPI_INT, &t), MPI_ERR_COUNT, {"array_of_blocklengths[1] is -1"});
        expect_failure(MPI_Type_indexed(2, nullptr, one, MPI_INT, &t), MPI_ERR_ARG,
                       {"array_of_blocklengths is a null pointer"});
        expect_failure(MPI_Type_create_hindexed(2, one, nullptr, MPI_INT, &t), MPI_ERR_ARG, {"array_of_displacements"});
        expect_failure(MPI_Type_create_struct(2, one, at, types, &t), MPI_ERR_TYPE, {"array_of_types", "MPI_DATATYPE_NULL"});
        expect_failure(MPI_Type_create_subarray(2, four, five, one, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG,
                       {"5 elements", "4"});
        expect_failure(MPI_Type_create_subarray(2, four, one, one, 3, MPI_INT, &t), MPI_ERR_ARG, {"order is 3", "MPI_ORDER_C"});
        expect_failure(MPI_Type_create_subarray(0, four, one, one, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG, {"ndims is 0"});
        int const how[2] = {MPI_DISTRIBUTE_BLOCK, 99}, by[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
        expect_failure(MPI_Type_create_darray(1, 1, 2, four, how, by, one, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_RANK,
                       {"rank is 1"});
        expect_failure(MPI_Type_create_darray(1, 0, 2, four, how, by, one, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG,
                       {"distribution 99"});
        expect_failure(MPI_Type_create_darray(3, 0, 2, four, how, by, one, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG,
                       {"grid of 1"});
        EXPECT_EQ(t, MPI_DATATYPE_NULL);
        EXPECT_EQ(MPI_Type_create_struct(0, nullptr, nullptr, nullptr, &t), MPI_SUCCESS);
        EXPECT_EQ(MPI_Type_free(&t), MPI_SUCCESS);
    });
}

TEST(CDatatypes, BadQuestionsAndPackedBuffersThatAreTooShortAreRefused) {
    ranks(1, [](int, int) {
        MPI_Datatype t = MPI_INT;
        int n[4] = {}, position = 6;
        char buffer[8] = {};
        int const x = 1;
        expect_failure(MPI_Type_free(&t), MPI_ERR_TYPE, {"MPI_INT", "predefined"});
        EXPECT_EQ(t, MPI_INT);
        EXPECT_EQ(MPI_Type_get_envelope(MPI_INT, &n[0], &n[1], &n[2], &n[3]), MPI_SUCCESS);
        EXPECT_EQ(numbers(n, n + 4), numbers({0, 0, 0, MPI_COMBINER_NAMED}));
        expect_failure(MPI_Type_get_contents(MPI_INT, 0, 0, 0, nullptr, nullptr, nullptr), MPI_ERR_TYPE, {"MPI_INT"});
        MPI_Type_vector(2, 1, 2, MPI_INT, &t);
        expect_failure(MPI_Type_get_contents(t, 2, 0, 1, n, nullptr, &t), MPI_ERR_ARG, {"max_integers is 2", "at least 3"});
        expect_failure(MPI_Pack(&x, 1, t, buffer, 8, &position, world), MPI_ERR_TYPE, {"not committed"});
        expect_failure(MPI_Pack(&x, 1, MPI_INT, buffer, 8, &position, world), MPI_ERR_TRUNCATE,
                       {"8 bytes", "position 6", "4 bytes"});
        expect_failure(MPI_Unpack(buffer, 8, &position, n, 1, MPI_INT, world), MPI_ERR_TRUNCATE,
                       {"inbuf has 8 bytes", "position 6"});
        EXPECT_EQ(position, 6);
        position = -1;
        expect_failure(MPI_Pack(&x, 1, MPI_INT, buffer, 8, &position, world), MPI_ERR_ARG, {"position is -1"});
        MPI_Aint at = 5;
        expect_failure(MPI_Pack_external("native", &x, 1, MPI_INT, buffer, 8, &at), MPI_ERR_ARG, {"\"native\"", "external32"});
        expect_failure(MPI_Pack_external("external32", &x, 1, MPI_INT, buffer, 8, &at), MPI_ERR_TRUNCATE, {"position 5"});
        expect_failure(MPI_Unpack_external("external32", buffer, 8, &at, n, 1, MPI_INT), MPI_ERR_TRUNCATE, {"position 5"});
        expect_failure(MPI_Type_set_name(t, nullptr), MPI_ERR_ARG, {"type_name"});
        MPI_Type_free(&t);
        expect_failure(MPI_Type_commit(&t), MPI_ERR_TYPE, {"MPI_DATATYPE_NULL"});
        expect_failure(MPI_Send(nullptr, 1, MPI_INT, 0, 1, world), MPI_ERR_BUFFER, {"MPI_BOTTOM"});
    });
}

} // namespace
