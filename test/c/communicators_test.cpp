// Chapter 7 of the C interface: communicators.
#include <algorithm>

#include <mpt/mpi/hardware.hpp>
#include <sched.h>

#include "shared.hpp"

namespace {

using mpt::c::test::dup_of;
using mpt::c::test::expect_failure;
using mpt::c::test::expect_ring;
using mpt::c::test::members;
using mpt::c::test::ranks;

using list = std::vector<int>;

MPI_Group group_of(list const& world_ranks) {
    MPI_Group world = MPI_GROUP_NULL, g = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(world_ranks.size()), world_ranks.data(), &g);
    MPI_Group_free(&world);
    return g;
}

void expect_members(MPI_Comm c, list const& wanted) {
    if (wanted.empty()) {
        EXPECT_EQ(c, MPI_COMM_NULL);
        return;
    }
    ASSERT_NE(c, MPI_COMM_NULL);
    EXPECT_EQ(members(c), wanted);
    expect_ring(c);
}

TEST(CCommunicators, MessagesOfADupAndOfItsParentDoNotMeet) {
    ranks(2, [](int me, int) {
        auto twin = dup_of(MPI_COMM_WORLD);
        int x = me, result = -1, flag = 1;
        MPI_Comm_compare(MPI_COMM_WORLD, twin, &result);
        EXPECT_EQ(result, MPI_CONGRUENT);
        MPI_Comm_compare(twin, twin, &result);
        EXPECT_EQ(result, MPI_IDENT);
        if (me == 0) {
            MPI_Send(&x, 1, MPI_INT, 1, 5, twin);
            x = 17;
            MPI_Send(&x, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            EXPECT_EQ(x, 17);
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            EXPECT_FALSE(flag);
            MPI_Recv(&x, 1, MPI_INT, 0, 5, twin, MPI_STATUS_IGNORE);
            EXPECT_EQ(x, 0);
        }
        auto const dead = twin;
        EXPECT_EQ(MPI_Comm_free(&twin), MPI_SUCCESS);
        EXPECT_EQ(twin, MPI_COMM_NULL);
        expect_failure(MPI_Comm_rank(dead, &x), MPI_ERR_COMM, {"comm is 0x", "freed"});
    });
}

TEST(CCommunicators, SplitsGroupByColorAndOrderByKeyThenRank) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    ranks(6, [seed](int me, int size) {
        std::mt19937 random{seed}; // the same on all ranks
        for (int round = 0; round < 12; ++round) {
            list colors, keys;
            for (int r = 0; r < size; ++r) {
                auto const c = static_cast<int>(random() % 4);
                colors.push_back(c == 3 ? MPI_UNDEFINED : c * 1000000000 % 2147483647);
                keys.push_back(static_cast<int>(random() % 5) - 2);
            }
            auto const at = [](list const& l, int r) { return l[static_cast<std::size_t>(r)]; };
            list wanted;
            for (int r = 0; r < size && at(colors, me) != MPI_UNDEFINED; ++r)
                if (at(colors, r) == at(colors, me)) wanted.push_back(r);
            std::ranges::stable_sort(wanted, {}, [&](int r) { return at(keys, r); });
            MPI_Comm part = MPI_COMM_WORLD;
            EXPECT_EQ(MPI_Comm_split(MPI_COMM_WORLD, at(colors, me), at(keys, me), &part), MPI_SUCCESS);
            expect_members(part, wanted);
            if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
        }
    });
}

TEST(CCommunicators, OneCreateMakesACommunicatorOfEachGroup) {
    ranks(6, [](int me, int) {
        list const one{4, 0, 2}, other{1, 5};
        auto const mine = me == 3 ? list{} : me % 2 == 0 ? one : other;
        auto g = group_of(mine);
        MPI_Comm c = MPI_COMM_WORLD;
        EXPECT_EQ(MPI_Comm_create(MPI_COMM_WORLD, g, &c), MPI_SUCCESS);
        expect_members(c, mine);
        int result = -1;
        if (c != MPI_COMM_NULL) {
            MPI_Comm_compare(c, MPI_COMM_WORLD, &result);
            EXPECT_EQ(result, MPI_UNEQUAL);
            MPI_Comm_free(&c);
        }
        MPI_Group_free(&g);
        auto outsider = group_of({0, 1}); // rank 2 names a group that it is not in
        MPI_Comm_create(MPI_COMM_WORLD, outsider, &c);
        expect_members(c, me < 2 ? list{0, 1} : list{});
        if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
        MPI_Group_free(&outsider);
    });
}

TEST(CCommunicators, AGroupMakesACommunicatorWhileTheOthersDoNotCall) {
    ranks(5, [](int me, int size) {
        int x = me, got = -1; // the same tags are under way on the parent
        MPI_Request r = MPI_REQUEST_NULL;
        MPI_Isend(&x, 1, MPI_INT, (me + 1) % size, 9, MPI_COMM_WORLD, &r);
        if (me != 2) {
            list const all{4, 3, 1, 0};
            auto g = group_of(all);
            MPI_Comm c = MPI_COMM_NULL, again = MPI_COMM_NULL;
            EXPECT_EQ(MPI_Comm_create_group(MPI_COMM_WORLD, g, 9, &c), MPI_SUCCESS);
            EXPECT_EQ(MPI_Comm_create_group(MPI_COMM_WORLD, g, 9, &again), MPI_SUCCESS);
            expect_members(c, all);
            expect_members(again, all);
            MPI_Comm_free(&c);
            MPI_Comm_free(&again);
            MPI_Group_free(&g);
        }
        MPI_Recv(&got, 1, MPI_INT, (me + size - 1) % size, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_EQ(got, (me + size - 1) % size);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    });
}

TEST(CCommunicators, ThreadsOfARankMakeCommunicatorsOfDifferentGroupsAtOnce) {
    ranks(3, [](int me, int) {
        auto const make = [](list const& who, int tag) {
            auto g = group_of(who);
            for (int i = 0; i < 20; ++i) {
                MPI_Comm c = MPI_COMM_NULL;
                MPI_Comm_create_group(MPI_COMM_WORLD, g, tag, &c);
                expect_members(c, who);
                MPI_Comm_free(&c);
            }
            MPI_Group_free(&g);
        };
        std::vector<std::thread> all;
        if (me != 2) all.push_back(mpt::c::test::thread_of_rank([&] { make({0, 1}, 1); }));
        if (me != 0) all.push_back(mpt::c::test::thread_of_rank([&] { make({2, 1}, 2); }));
        if (me != 1) all.push_back(mpt::c::test::thread_of_rank([&] { make({2, 0}, 3); }));
        for (auto& t : all) t.join();
    });
}

TEST(CCommunicators, WhatIsPendingOnAFreedCommunicatorGoesOn) {
    ranks(2, [](int me, int) {
        auto c = dup_of(MPI_COMM_WORLD);
        std::vector<int> data(200000, me == 0 ? 42 : 0);
        MPI_Request r = MPI_REQUEST_NULL;
        if (me == 0) MPI_Isend(data.data(), 200000, MPI_INT, 1, 1, c, &r);
        else MPI_Irecv(data.data(), 200000, MPI_INT, 0, 1, c, &r);
        EXPECT_EQ(MPI_Comm_free(&c), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(data, std::vector<int>(200000, 42));
    });
}

/// Freeing looks at the requests of all communicators, and finds those of this one.
TEST(CCommunicators, AreFreedWhileOtherThreadsHaveRequestsOnTheirs) {
    ranks(1, [](int, int) {
        auto const talk = [](MPI_Comm c, int i, auto&& meanwhile) {
            std::array<int, 2> data{i, -1};
            std::array<MPI_Request, 2> r{};
            MPI_Irecv(&data[1], 1, MPI_INT, 0, 3, c, &r[1]);
            MPI_Isend(&data[0], 1, MPI_INT, 0, 3, c, &r[0]);
            meanwhile();
            EXPECT_EQ(MPI_Waitall(2, r.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(data[1], i);
        };
        constexpr int rounds = 300;
        std::vector<std::thread> others;
        std::array<MPI_Comm, 2> own{dup_of(MPI_COMM_SELF), dup_of(MPI_COMM_SELF)};
        for (auto const c : own)
            others.push_back(mpt::c::test::thread_of_rank([&talk, c] {
                for (int i = 0; i < rounds; ++i) talk(c, i, [] {});
            }));
        for (int i = 0; i < rounds; ++i) {
            auto c = dup_of(MPI_COMM_SELF);
            if (i % 2 == 0) talk(c, i, [&] { EXPECT_EQ(MPI_Comm_free(&c), MPI_SUCCESS); });
            else {
                talk(c, i, [] {});
                EXPECT_EQ(MPI_Comm_disconnect(&c), MPI_SUCCESS);
            }
        }
        for (auto& t : others) t.join();
        for (auto& c : own) MPI_Comm_free(&c);
    });
}

TEST(CCommunicators, ABufferIsTheProgramsAgainWhenItsCommunicatorIsFreed) {
    ranks(2, [](int me, int) {
        auto c = dup_of(MPI_COMM_WORLD);
        std::vector<int> data(100000, 42);
        std::vector<std::byte> room(data.size() * sizeof(int) + MPI_BSEND_OVERHEAD);
        if (me == 0) {
            EXPECT_EQ(MPI_Comm_attach_buffer(c, room.data(), static_cast<int>(room.size())), MPI_SUCCESS);
            EXPECT_EQ(MPI_Bsend(data.data(), 100000, MPI_INT, 1, 1, c), MPI_SUCCESS);
        } else {
            std::vector<int> got(data.size());
            MPI_Recv(got.data(), 100000, MPI_INT, 0, 1, c, MPI_STATUS_IGNORE);
            EXPECT_EQ(got, data);
        }
        EXPECT_EQ(MPI_Comm_free(&c), MPI_SUCCESS);
        std::ranges::fill(room, std::byte{0});
    });
}

TEST(CCommunicators, ADisconnectWaitsForWhatIsPending) {
    ranks(2, [](int me, int) {
        auto c = dup_of(MPI_COMM_WORLD);
        std::vector<int> data(200000, me == 0 ? 42 : 0);
        MPI_Request r = MPI_REQUEST_NULL;
        int flag = 0;
        if (me == 0) MPI_Issend(data.data(), 200000, MPI_INT, 1, 1, c, &r);
        else MPI_Irecv(data.data(), 200000, MPI_INT, 0, 1, c, &r);
        EXPECT_EQ(MPI_Comm_disconnect(&c), MPI_SUCCESS);
        EXPECT_EQ(c, MPI_COMM_NULL);
        EXPECT_EQ(data, std::vector<int>(200000, 42));
        MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
        EXPECT_TRUE(flag);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(r, MPI_REQUEST_NULL);
    });
}

TEST(CCommunicators, AFastRankMayBeManyCommunicatorsAhead) {
    ranks(3, [](int me, int) {
        for (int i = 0; i < 50; ++i) {
            auto c = dup_of(MPI_COMM_WORLD);
            if (me == 0) MPI_Send(&i, 1, MPI_INT, 2, 1, c); // rank 2 reads it when rank 0 has freed it
            int got = i;
            if (me == 2) MPI_Recv(&(got = -1), 1, MPI_INT, 0, 1, c, MPI_STATUS_IGNORE);
            EXPECT_EQ(got, i);
            MPI_Comm_free(&c);
        }
    });
}

TEST(CCommunicators, AllRanksShareMemoryAndNoSmallerHardwareIsKnown) {
    ranks(3, [](int me, int size) {
        auto const split = [&](int type, int key, MPI_Info info = MPI_INFO_NULL) {
            MPI_Comm c = MPI_COMM_WORLD;
            EXPECT_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, type, key, info, &c), MPI_SUCCESS);
            return c;
        };
        auto const expect = [&](MPI_Comm c, list const& wanted) {
            expect_members(c, wanted);
            if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
        };
        expect(split(MPI_COMM_TYPE_SHARED, size - me), {2, 1, 0});
        expect(split(me == 1 ? int{MPI_UNDEFINED} : int{MPI_COMM_TYPE_SHARED}, 0), me == 1 ? list{} : list{0, 2});
        expect(split(MPI_COMM_TYPE_HW_GUIDED, 0), {});
        MPI_Info hints = MPI_INFO_NULL;
        MPI_Info_create(&hints);
        for (auto const* unknown : {"hwloc://Toaster", "mpi://WORLD", "hwloc://"}) {
            MPI_Info_set(hints, "mpi_hw_resource_type", unknown);
            expect(split(MPI_COMM_TYPE_HW_GUIDED, 0, hints), {});
        }
        for (auto const* all : {"hwloc://Machine", "Machine"}) {
            MPI_Info_set(hints, "mpi_hw_resource_type", all);
            expect(split(MPI_COMM_TYPE_HW_GUIDED, 0, hints), {0, 1, 2});
            expect(split(MPI_COMM_TYPE_RESOURCE_GUIDED, 0, hints), {0, 1, 2});
        }
        MPI_Info_set(hints, "mpi_hw_resource_type", "mpi_shared_memory");
        expect(split(MPI_COMM_TYPE_HW_GUIDED, 0, hints), {0, 1, 2});
        MPI_Info_delete(hints, "mpi_hw_resource_type");
        MPI_Info_set(hints, "mpi_pset_name", "mpi://SELF");
        expect(split(MPI_COMM_TYPE_RESOURCE_GUIDED, 0, hints), {me});
        MPI_Info_free(&hints);
    });
}

/// Four ranks on two CPUs, two on each; the last may also run on the other one, and so belongs to none.
TEST(CCommunicators, AreSplitByTheHardwareTheirRanksAreBoundTo) {
    auto const cpus = mpt::own_cpus();
    if (cpus.size() < 2) GTEST_SKIP() << "one CPU alone";
    ranks(5, [&](int me, int) {
        auto const bind = [&](std::initializer_list<int> to) {
            cpu_set_t set;
            CPU_ZERO(&set);
            for (int const i : to) CPU_SET(static_cast<unsigned>(cpus[static_cast<std::size_t>(i)]), &set);
            EXPECT_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
        };
        if (me == 4) bind({0, 1});
        else bind({me % 2});
        MPI_Info hints = MPI_INFO_NULL;
        MPI_Info_create(&hints);
        MPI_Info_set(hints, "mpi_hw_resource_type", "hwloc://PU");
        MPI_Comm guided = MPI_COMM_WORLD, unguided = MPI_COMM_WORLD, again = MPI_COMM_WORLD;
        EXPECT_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, hints, &guided), MPI_SUCCESS);
        EXPECT_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &unguided), MPI_SUCCESS);
        auto const mine = me == 4 ? list{} : list{me % 2, me % 2 + 2};
        expect_members(guided, mine);
        if (unguided != MPI_COMM_NULL) { // a larger sort may part them already
            auto const found = members(unguided);
            EXPECT_LT(found.size(), 5u);
            EXPECT_TRUE(std::ranges::includes(found, mine));
        }
        MPI_Comm_split_type(MPI_COMM_WORLD, me == 0 ? int{MPI_UNDEFINED} : int{MPI_COMM_TYPE_HW_UNGUIDED}, 0, MPI_INFO_NULL,
                            &again);
        EXPECT_EQ(again == MPI_COMM_NULL, me == 0); // at least this parts them
        if (again != MPI_COMM_NULL) MPI_Comm_free(&again);
        if (me < 4) {
            MPI_Comm_split_type(guided, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &again);
            EXPECT_EQ(again, MPI_COMM_NULL); // no sort parts ranks of one CPU
            MPI_Comm_free(&guided);
        }
        if (unguided != MPI_COMM_NULL) MPI_Comm_free(&unguided);
        MPI_Info_free(&hints);
    });
}

std::string name_of(MPI_Comm c) {
    char text[MPI_MAX_OBJECT_NAME];
    int length = -1;
    EXPECT_EQ(MPI_Comm_get_name(c, text, &length), MPI_SUCCESS);
    EXPECT_EQ(std::string{text}.size(), static_cast<std::size_t>(length));
    return text;
}
std::string hint_of(MPI_Comm c, char const* key) {
    MPI_Info used = MPI_INFO_NULL;
    char text[64] = "";
    int room = sizeof text, flag = 0;
    MPI_Comm_get_info(c, &used);
    MPI_Info_get_string(used, key, &room, text, &flag);
    MPI_Info_free(&used);
    return flag ? text : "none";
}

TEST(CCommunicators, NamesAndHintsBelongToOneCommunicator) {
    ranks(2, [](int, int) {
        EXPECT_EQ(name_of(MPI_COMM_WORLD), "MPI_COMM_WORLD");
        EXPECT_EQ(name_of(MPI_COMM_SELF), "MPI_COMM_SELF");
        auto c = dup_of(MPI_COMM_WORLD);
        EXPECT_EQ(name_of(c), "");
        MPI_Comm_set_name(c, "twin");
        EXPECT_EQ(name_of(c), "twin");
        MPI_Comm_set_name(c, std::string(1000, 'x').c_str());
        EXPECT_EQ(name_of(c), std::string(MPI_MAX_OBJECT_NAME - 1, 'x'));

        MPI_Info hints = MPI_INFO_NULL;
        MPI_Info_create(&hints);
        MPI_Info_set(hints, "mpi_assert_no_any_tag", "true");
        MPI_Info_set(hints, "mpi_assert_exact_length", "perhaps");
        MPI_Info_set(hints, "coffee", "true");
        EXPECT_EQ(hint_of(c, "mpi_assert_no_any_tag"), "false");
        EXPECT_EQ(MPI_Comm_set_info(c, hints), MPI_SUCCESS);
        EXPECT_EQ(MPI_Comm_set_info(c, MPI_INFO_NULL), MPI_SUCCESS);
        EXPECT_EQ(hint_of(c, "mpi_assert_no_any_tag"), "true");
        EXPECT_EQ(hint_of(c, "mpi_assert_exact_length"), "false");
        EXPECT_EQ(hint_of(c, "coffee"), "none");
        auto plain = dup_of(c);
        EXPECT_EQ(hint_of(plain, "mpi_assert_no_any_tag"), "false");
        MPI_Comm hinted = MPI_COMM_NULL;
        EXPECT_EQ(MPI_Comm_dup_with_info(plain, hints, &hinted), MPI_SUCCESS);
        EXPECT_EQ(hint_of(hinted, "mpi_assert_no_any_tag"), "true");
        expect_ring(hinted);
        MPI_Info_free(&hints);
        for (auto* x : {&c, &plain, &hinted}) MPI_Comm_free(x);
    });
}

TEST(CCommunicators, SayWhichKindsOfMemoryTheirBuffersMayBe) {
    for (bool const wanted : {false, true}) {
        if (wanted) ::setenv("MPT_BOOT_MEMORY_KINDS", "system,mpi:alloc_mem,cuda", 1); // as mptrun has it from its option
        ranks(1, [wanted](int, int) {
            for (auto c : {MPI_COMM_WORLD, MPI_COMM_SELF})
                EXPECT_EQ(hint_of(c, "mpi_memory_alloc_kinds"), wanted ? "mpi,system,mpi:alloc_mem" : "mpi,system");
        });
    }
    ::unsetenv("MPT_BOOT_MEMORY_KINDS");
}

TEST(CCommunicators, AreToldOfWhichKindsOfMemoryTheirBuffersWillBe) {
    ranks(2, [](int, int) {
        constexpr auto key = "mpi_assert_memory_alloc_kinds";
        auto c = dup_of(MPI_COMM_WORLD);
        EXPECT_EQ(hint_of(c, key), "none");
        auto const assert_kinds = [&](char const* value) {
            MPI_Info hints = MPI_INFO_NULL;
            MPI_Info_create(&hints);
            MPI_Info_set(hints, key, value);
            EXPECT_EQ(MPI_Comm_set_info(c, hints), MPI_SUCCESS);
            MPI_Info_free(&hints);
        };
        assert_kinds("system,mpi:win_allocate");
        EXPECT_EQ(hint_of(c, key), "system,mpi:win_allocate");
        assert_kinds("cuda");
        EXPECT_EQ(hint_of(c, key), "system,mpi:win_allocate") << "is not provided, and so ignored";
        auto plain = dup_of(c);
        EXPECT_EQ(hint_of(plain, key), "none");
        expect_ring(c);
        for (auto* x : {&c, &plain}) MPI_Comm_free(x);
    });
}

TEST(CCommunicators, ThereIsNoOtherSideAndNoParent) {
    ranks(1, [](int, int) {
        int flag = 1, size = 0;
        MPI_Group g = MPI_GROUP_NULL;
        MPI_Comm parent = MPI_COMM_WORLD;
        MPI_Comm_test_inter(MPI_COMM_WORLD, &flag);
        EXPECT_FALSE(flag);
        expect_failure(MPI_Comm_remote_size(MPI_COMM_WORLD, &size), MPI_ERR_COMM, {"intracommunicator"});
        expect_failure(MPI_Comm_remote_group(MPI_COMM_WORLD, &g), MPI_ERR_COMM, {"intracommunicator"});
        EXPECT_EQ(MPI_Comm_get_parent(&parent), MPI_SUCCESS);
        EXPECT_EQ(parent, MPI_COMM_NULL);
    });
}

TEST(CCommunicators, MisuseIsRefused) {
    ranks(2, [](int me, int) {
        MPI_Comm c = MPI_COMM_WORLD, made = MPI_COMM_NULL;
        expect_failure(MPI_Comm_free(&c), MPI_ERR_COMM, {"MPI_COMM_WORLD", "cannot be freed"});
        EXPECT_EQ(c, MPI_COMM_WORLD);
        c = MPI_COMM_SELF;
        expect_failure(MPI_Comm_disconnect(&c), MPI_ERR_COMM, {"MPI_COMM_SELF"});
        c = MPI_COMM_NULL;
        expect_failure(MPI_Comm_free(&c), MPI_ERR_COMM, {"MPI_COMM_NULL"});
        expect_failure(MPI_Comm_split(MPI_COMM_WORLD, -3, 0, &made), MPI_ERR_ARG, {"color is -3"});
        expect_failure(MPI_Comm_split_type(MPI_COMM_WORLD, 7, 0, MPI_INFO_NULL, &made), MPI_ERR_ARG, {"split_type is 7"});
        auto both = group_of({0, 1});
        expect_failure(MPI_Comm_create(MPI_COMM_SELF, both, &made), MPI_ERR_GROUP,
                       {me == 0 ? "rank 1" : "rank 0", "not in comm"});
        expect_failure(MPI_Comm_create_group(MPI_COMM_WORLD, both, -1, &made), MPI_ERR_TAG, {"tag is -1"});
        expect_failure(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &made), MPI_ERR_GROUP, {"MPI_GROUP_NULL"});
        expect_failure(MPI_Comm_dup(MPI_COMM_WORLD, nullptr), MPI_ERR_ARG, {"newcomm is a null pointer"});
        expect_failure(MPI_Comm_set_name(MPI_COMM_WORLD, nullptr), MPI_ERR_ARG, {"comm_name"});
        MPI_Group_free(&both);
        EXPECT_EQ(made, MPI_COMM_NULL);
    });
}

} // namespace
