// Chapter 7 of the C interface: intercommunicators, how they are made and what is said about them; messages between their sides.
#include "two_sides.hpp"

namespace {

using mpt::c::test::comm_of;
using mpt::c::test::dup_of;
using mpt::c::test::expect_crossing;
using mpt::c::test::expect_failure;
using mpt::c::test::expect_ring;
using mpt::c::test::joined;
using mpt::c::test::members;
using mpt::c::test::ranks;
using mpt::c::test::remote_members;
using mpt::c::test::two_sides;

using list = std::vector<int>;

/// The sides of an intercommunicator are these, seen from the first or the second; messages cross it.
void expect_sides(MPI_Comm c, list const& mine, list const& others) {
    ASSERT_NE(c, MPI_COMM_NULL);
    int flag = 0, size = -1;
    EXPECT_EQ(MPI_Comm_test_inter(c, &flag), MPI_SUCCESS);
    EXPECT_TRUE(flag);
    MPI_Comm_size(c, &size);
    EXPECT_EQ(size, static_cast<int>(mine.size()));
    EXPECT_EQ(MPI_Comm_remote_size(c, &size), MPI_SUCCESS);
    EXPECT_EQ(size, static_cast<int>(others.size()));
    EXPECT_EQ(members(c), mine);
    EXPECT_EQ(remote_members(c), others);
    expect_crossing(c);
}
int compared(MPI_Comm a, MPI_Comm b) {
    int result = -1;
    EXPECT_EQ(MPI_Comm_compare(a, b, &result), MPI_SUCCESS);
    return result;
}

/// f(intercommunicator, side, members of the own side, of the other) on random sides, again and again; ranks on none are left out.
template <class F> void on_random_sides(int rounds, F const& f) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    ranks(6, [&](int me, int size) {
        std::mt19937 random{seed}; // the same on all ranks
        for (int round = 0; round < rounds; ++round) {
            auto const sides = two_sides::drawn(size, random);
            int leaders[2];
            for (int i : {0, 1}) leaders[i] = static_cast<int>(random() % sides.of[i].size());
            auto common = random; // for f: as many throws as it likes
            random.discard(64);
            auto inter = joined(sides, me, leaders[0], leaders[1]);
            auto const side = sides.side(me);
            EXPECT_EQ(inter == MPI_COMM_NULL, side == 2);
            if (side == 2) continue;
            f(inter, sides, side, common);
            EXPECT_EQ(MPI_Comm_free(&inter), MPI_SUCCESS);
        }
    });
}

TEST(CIntercommunicators, TwoSidesOfAnySizeAndOrderKnowEachOther) {
    on_random_sides(
        8, [](MPI_Comm inter, two_sides const& s, int side, auto&) { expect_sides(inter, s.of[side], s.of[1 - side]); });
}

TEST(CIntercommunicators, MergePutsTheHighSideLast) {
    on_random_sides(8, [](MPI_Comm inter, two_sides const& s, int side, auto& random) {
        int const high[]{static_cast<int>(random() % 2), static_cast<int>(random() % 2)};
        MPI_Comm merged = MPI_COMM_NULL;
        EXPECT_EQ(MPI_Intercomm_merge(inter, high[side], &merged), MPI_SUCCESS);
        bool const first = high[0] == high[1] ? s.of[0].front() < s.of[1].front() : high[0] == 0; // is side 0
        auto all = s.of[!first];
        all.insert(all.end(), s.of[first].begin(), s.of[first].end());
        EXPECT_EQ(members(merged), all);
        expect_ring(merged);
        MPI_Comm_free(&merged);
    });
}

TEST(CIntercommunicators, MergeRefusesASideThatDisagrees) {
    ranks(3, [](int me, int) {
        auto inter = joined(two_sides::in_order(1, 2), me);
        MPI_Comm merged = MPI_COMM_NULL;
        expect_failure(MPI_Intercomm_merge(inter, me == 2, &merged), MPI_ERR_ARG, {"rank 1 of a side says high", "rank 0"});
        EXPECT_EQ(merged, MPI_COMM_NULL);
        MPI_Comm_free(&inter);
    });
}

TEST(CIntercommunicators, SplitMeetsColorsOfBothSides) {
    on_random_sides(12, [](MPI_Comm inter, two_sides const& s, int side, auto& random) {
        list colors(6), keys(6);
        for (auto& c : colors) c = random() % 4 == 3 ? MPI_UNDEFINED : static_cast<int>(random() % 2);
        for (auto& k : keys) k = static_cast<int>(random() % 5) - 2;
        auto const at = [](list const& l, int r) { return l[static_cast<std::size_t>(r)]; };
        int me = -1;
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
        auto const wanted = [&](list side_members) {
            std::erase_if(side_members, [&](int r) { return at(colors, r) != at(colors, me); });
            std::ranges::stable_sort(side_members, {}, [&](int r) { return at(keys, r); });
            return side_members;
        };
        MPI_Comm part = MPI_COMM_WORLD;
        EXPECT_EQ(MPI_Comm_split(inter, at(colors, me), at(keys, me), &part), MPI_SUCCESS);
        auto const others = wanted(s.of[1 - side]);
        if (at(colors, me) == MPI_UNDEFINED || others.empty()) {
            EXPECT_EQ(part, MPI_COMM_NULL);
            return;
        }
        expect_sides(part, wanted(s.of[side]), others);
        MPI_Comm_free(&part);
    });
}

TEST(CIntercommunicators, CreateTakesAGroupOfEachSide) {
    on_random_sides(12, [](MPI_Comm inter, two_sides const& s, int side, auto& random) {
        list chosen[2];
        for (int i : {0, 1}) {
            chosen[i] = s.of[i];
            std::shuffle(chosen[i].begin(), chosen[i].end(), random);
            chosen[i].resize(random() % (chosen[i].size() + 1));
        }
        MPI_Group world = MPI_GROUP_NULL, g = MPI_GROUP_NULL;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, static_cast<int>(chosen[side].size()), chosen[side].data(), &g);
        MPI_Comm part = MPI_COMM_WORLD;
        EXPECT_EQ(MPI_Comm_create(inter, g, &part), MPI_SUCCESS);
        int me = -1;
        MPI_Group_rank(g, &me);
        if (me == MPI_UNDEFINED || chosen[1 - side].empty()) EXPECT_EQ(part, MPI_COMM_NULL);
        else expect_sides(part, chosen[side], chosen[1 - side]), MPI_Comm_free(&part);
        MPI_Group_free(&g);
        MPI_Group_free(&world);
    });
}

int copy_plus_one(MPI_Comm, int, void*, void* in, void* out, int* flag) {
    *static_cast<void**>(out) = static_cast<char*>(in) + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

TEST(CIntercommunicators, ADupHasSidesAttributesAndErrorHandlerAndAContextOfItsOwn) {
    ranks(5, [](int me, int) {
        auto const sides = two_sides::in_order(2, 3);
        auto inter = joined(sides, me);
        int key = MPI_KEYVAL_INVALID, flag = 0;
        char place[8];
        MPI_Comm_create_keyval(copy_plus_one, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
        EXPECT_EQ(MPI_Comm_set_attr(inter, key, place), MPI_SUCCESS);
        MPI_Comm twins[4];
        MPI_Request r = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Comm_dup(inter, &twins[0]), MPI_SUCCESS);
        EXPECT_EQ(MPI_Comm_dup_with_info(inter, MPI_INFO_NULL, &twins[1]), MPI_SUCCESS);
        EXPECT_EQ(MPI_Comm_idup(inter, &twins[2], &r), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(MPI_Comm_idup_with_info(inter, MPI_INFO_NULL, &twins[3], &r), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        if (me == 0) MPI_Send(&me, 1, MPI_INT, 0, 4, inter); // meets no receive on a twin
        auto const side = sides.side(me);
        for (auto& twin : twins) {
            expect_sides(twin, sides.of[side], sides.of[1 - side]);
            EXPECT_EQ(compared(inter, twin), MPI_CONGRUENT);
            char* copied = nullptr;
            MPI_Comm_get_attr(twin, key, &copied, &flag);
            EXPECT_TRUE(flag && copied == place + 1);
            MPI_Errhandler h = MPI_ERRHANDLER_NULL;
            MPI_Comm_get_errhandler(twin, &h);
            EXPECT_EQ(h, MPI_ERRORS_RETURN);
            MPI_Comm_free(&twin);
        }
        int got = -1;
        if (me == 2) MPI_Recv(&got, 1, MPI_INT, 0, 4, inter, MPI_STATUS_IGNORE);
        EXPECT_EQ(got, me == 2 ? 0 : -1);
        MPI_Comm_free_keyval(&key);
        EXPECT_EQ(MPI_Comm_disconnect(&inter), MPI_SUCCESS);
        EXPECT_EQ(inter, MPI_COMM_NULL);
    });
}

TEST(CIntercommunicators, AreComparedSideBySide) {
    ranks(4, [](int me, int) {
        auto one = joined({{{0, 1}, {2, 3}}}, me), same = joined({{{0, 1}, {2, 3}}}, me),
             turned = joined({{{0, 1}, {3, 2}}}, me), other = joined({{{0, 2}, {1, 3}}}, me);
        EXPECT_EQ(compared(one, one), MPI_IDENT);
        EXPECT_EQ(compared(one, same), MPI_CONGRUENT);
        EXPECT_EQ(compared(one, turned), MPI_SIMILAR);
        EXPECT_EQ(compared(one, other), MPI_UNEQUAL);
        EXPECT_EQ(compared(one, MPI_COMM_WORLD), MPI_UNEQUAL);
        for (auto* c : {&one, &same, &turned, &other}) MPI_Comm_free(c);
    });
}

TEST(CIntercommunicators, HaveANameAndHints) {
    ranks(2, [](int me, int) {
        auto inter = joined(two_sides::in_order(1, 1), me);
        char name[MPI_MAX_OBJECT_NAME] = "?";
        int length = -1, flag = 0;
        MPI_Comm_get_name(inter, name, &length);
        EXPECT_STREQ(name, "");
        MPI_Comm_set_name(inter, "bridge");
        MPI_Comm_get_name(inter, name, &length);
        EXPECT_STREQ(name, "bridge");
        MPI_Info hints = MPI_INFO_NULL;
        EXPECT_EQ(MPI_Comm_get_info(inter, &hints), MPI_SUCCESS);
        char value[8];
        int room = sizeof value;
        MPI_Info_get_string(hints, "mpi_assert_no_any_tag", &room, value, &flag);
        EXPECT_TRUE(flag);
        EXPECT_STREQ(value, "false");
        MPI_Info_free(&hints);
        expect_failure(MPI_Send(&flag, 1, MPI_INT, 1, 0, inter), MPI_ERR_RANK, {"dest is 1", "allowed: 0 to 0", "in bridge"});
        MPI_Comm_free(&inter);
    });
}

TEST(CIntercommunicators, GroupsThatOverlapAreRefusedOnAllRanks) {
    ranks(4, [](int me, int) {
        auto left = comm_of({0, 1}, me), right = comm_of({1, 2}, me);
        auto const create = [&](MPI_Comm local, int other) {
            MPI_Comm made = MPI_COMM_NULL;
            int const code = MPI_Intercomm_create(local, local == left ? 0 : 1, MPI_COMM_WORLD, other, 3, &made);
            EXPECT_EQ(made, MPI_COMM_NULL);
            return code;
        };
        auto const why = {"not disjoint", "rank 1 of the job is in both"};
        if (me == 0) expect_failure(create(left, 2), MPI_ERR_COMM, why);
        if (me == 2) expect_failure(create(right, 0), MPI_ERR_COMM, why);
        if (me == 1) { // on both sides: two calls at once
            auto second = mpt::c::test::thread_of_rank([&] { EXPECT_EQ(create(right, 0), MPI_ERR_COMM); });
            EXPECT_EQ(create(left, 2), MPI_ERR_COMM);
            second.join();
        }
        for (auto* c : {&left, &right})
            if (*c != MPI_COMM_NULL) MPI_Comm_free(c);
    });
}

TEST(CIntercommunicators, ALeaderThatCannotCrossTellsItsSide) {
    ranks(3, [](int me, int) {
        MPI_Comm made = MPI_COMM_NULL, twin = dup_of(MPI_COMM_WORLD);
        auto const create = [&](MPI_Comm peer, int remote) {
            return MPI_Intercomm_create(twin, 1, me == 1 ? peer : MPI_COMM_NULL, me == 1 ? remote : -5, 3, &made);
        };
        auto const told = {"rank 1, which leads this side", "could not reach"};
        expect_failure(create(MPI_COMM_WORLD, 3), me == 1 ? MPI_ERR_RANK : MPI_ERR_OTHER,
                       me == 1 ? std::initializer_list<char const*>{"remote_leader is 3", "0 to 2"} : told);
        expect_failure(create(MPI_COMM_NULL, 0), me == 1 ? MPI_ERR_COMM : MPI_ERR_OTHER,
                       me == 1 ? std::initializer_list<char const*>{"peer_comm is MPI_COMM_NULL"} : told);
        EXPECT_EQ(made, MPI_COMM_NULL);
        MPI_Comm_free(&twin);
    });
}

TEST(CIntercommunicators, HaveNoPlaceWhereOneGroupIsMeant) {
    ranks(2, [](int me, int) {
        auto inter = joined(two_sides::in_order(1, 1), me);
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Group g = MPI_GROUP_NULL;
        int const dims[]{1}, periods[]{0};
        int x = 0;
        auto const place = {"is an intercommunicator"};
        expect_failure(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 1 - me, 3, &made), MPI_ERR_COMM, place);
        MPI_Comm_group(inter, &g);
        expect_failure(MPI_Comm_create_group(inter, g, 1, &made), MPI_ERR_COMM, place);
        MPI_Group_free(&g);
        expect_failure(MPI_Cart_create(inter, 1, dims, periods, 0, &made), MPI_ERR_COMM, place);
        expect_failure(MPI_Cart_map(inter, 1, dims, periods, &x), MPI_ERR_COMM, place);
        for (auto c : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
            expect_failure(MPI_Comm_remote_size(c, &x), MPI_ERR_COMM, {"comm is an intracommunicator"});
            expect_failure(MPI_Comm_remote_group(c, &g), MPI_ERR_COMM, {"comm is an intracommunicator"});
            expect_failure(MPI_Intercomm_merge(c, 0, &made), MPI_ERR_COMM, {"intercomm is an intracommunicator"});
            EXPECT_EQ(MPI_Comm_test_inter(c, &x), MPI_SUCCESS);
            EXPECT_FALSE(x);
        }
        MPI_Comm_free(&inter);
    });
}

// --- messages -------------------------------------------------------------------------------------------------------------------

/// One of all forms of send from `me`, on an intercommunicator whose two sides have as many ranks; peers have the same rank.
void send_in_all_forms(MPI_Comm c, int peer, list const& values) {
    MPI_Request r[5];
    auto const* v = values.data();
    MPI_Send(v, 1, MPI_INT, peer, 0, c);
    MPI_Ssend(v + 1, 1, MPI_INT, peer, 1, c);
    MPI_Send(v + 2, 1, MPI_INT, peer, 2, c);
    MPI_Bsend(v + 3, 1, MPI_INT, peer, 3, c);
    MPI_Isend(v + 4, 1, MPI_INT, peer, 4, c, &r[0]);
    MPI_Issend(v + 5, 1, MPI_INT, peer, 5, c, &r[1]);
    MPI_Isend(v + 6, 1, MPI_INT, peer, 6, c, &r[2]);
    MPI_Ibsend(v + 7, 1, MPI_INT, peer, 7, c, &r[3]);
    MPI_Send_init(v + 8, 1, MPI_INT, peer, 8, c, &r[4]);
    MPI_Start(&r[4]);
    EXPECT_EQ(MPI_Waitall(5, r, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    MPI_Request_free(&r[4]);
}

void receive_in_all_forms(MPI_Comm c, int peer, list const& values) {
    auto const expect = [&](int tag, int got, MPI_Status const& s) {
        EXPECT_EQ(got, values[static_cast<std::size_t>(tag)]) << "tag " << tag;
        EXPECT_EQ(s.MPI_SOURCE, peer);
        EXPECT_EQ(s.MPI_TAG, tag);
    };
    MPI_Status s;
    MPI_Message m = MPI_MESSAGE_NULL;
    MPI_Request r = MPI_REQUEST_NULL;
    int got = -1, flag = 0;
    MPI_Recv(&got, 1, MPI_INT, peer, 0, c, &s), expect(0, got, s);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, c, &s), expect(1, got, s);
    MPI_Probe(MPI_ANY_SOURCE, 2, c, &s), expect(2, values[2], s);
    MPI_Recv(&got, 1, MPI_INT, s.MPI_SOURCE, 2, c, &s), expect(2, got, s);
    MPI_Mprobe(MPI_ANY_SOURCE, 3, c, &m, &s), expect(3, values[3], s);
    MPI_Mrecv(&got, 1, MPI_INT, &m, &s), expect(3, got, s);
    MPI_Irecv(&got, 1, MPI_INT, peer, 4, c, &r), MPI_Wait(&r, &s), expect(4, got, s);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, c, &r), MPI_Wait(&r, &s), expect(5, got, s);
    while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, 6, c, &flag, &s);
    expect(6, values[6], s);
    for (flag = 0; !flag;) MPI_Improbe(peer, 6, c, &flag, &m, &s);
    MPI_Imrecv(&got, 1, MPI_INT, &m, &r), MPI_Wait(&r, &s), expect(6, got, s);
    MPI_Recv_init(&got, 1, MPI_INT, MPI_ANY_SOURCE, 7, c, &r);
    MPI_Start(&r), MPI_Wait(&r, &s), expect(7, got, s);
    MPI_Request_free(&r);
    MPI_Recv(&got, 1, MPI_INT, peer, 8, c, &s), expect(8, got, s);
}

TEST(CIntercommunicators, MessagesOfEveryFormNameRanksOfTheOtherSide) {
    ranks(4, [](int me, int) {
        auto const sides = two_sides{{{2, 0}, {3, 1}}};
        auto inter = joined(sides, me);
        std::vector<char> room(4 * (sizeof(int) + MPI_BSEND_OVERHEAD));
        MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
        int at = -1;
        MPI_Comm_rank(inter, &at);
        list const values{at, at + 10, at + 20, at + 30, at + 40, at + 50, at + 60, at + 70, at + 80};
        for (int turn : {0, 1}) {
            if (sides.side(me) == turn) send_in_all_forms(inter, at, values);
            else receive_in_all_forms(inter, at, values);
        }
        void* back = nullptr;
        int size = 0;
        MPI_Buffer_detach(&back, &size);

        MPI_Status s;
        int got = -1, mine = me;
        auto const other = sides.of[1 - sides.side(me)][static_cast<std::size_t>(at)];
        MPI_Sendrecv(&me, 1, MPI_INT, at, 1, &got, 1, MPI_INT, MPI_ANY_SOURCE, 1, inter, &s);
        EXPECT_EQ(got, other);
        EXPECT_EQ(s.MPI_SOURCE, at);
        MPI_Sendrecv_replace(&mine, 1, MPI_INT, at, 2, at, 2, inter, &s);
        EXPECT_EQ(mine, other);
        EXPECT_EQ(MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, 3, inter, &s), MPI_SUCCESS);
        EXPECT_EQ(s.MPI_SOURCE, MPI_PROC_NULL);
        EXPECT_EQ(MPI_Send(&got, 1, MPI_INT, MPI_PROC_NULL, 3, inter), MPI_SUCCESS);
        MPI_Comm_free(&inter);
    });
}

TEST(CIntercommunicators, LargeAndScatteredMessagesCross) {
    ranks(3, [](int me, int) {
        auto inter = joined(two_sides::in_order(1, 2), me);
        MPI_Datatype every_other = MPI_DATATYPE_NULL;
        MPI_Type_vector(30000, 1, 2, MPI_INT, &every_other);
        MPI_Type_commit(&every_other);
        list data(60000, -1);
        if (me == 0)
            for (int to : {0, 1}) {
                std::iota(data.begin(), data.end(), to);
                MPI_Send(data.data(), 1, every_other, to, 0, inter);
            }
        else {
            MPI_Recv(data.data(), 1, every_other, 0, 0, inter, MPI_STATUS_IGNORE);
            for (std::size_t i = 0; i < data.size(); ++i) ASSERT_EQ(data[i], i % 2 ? -1 : static_cast<int>(i) + me - 1);
        }
        MPI_Type_free(&every_other);
        MPI_Comm_free(&inter);
    });
}

} // namespace
