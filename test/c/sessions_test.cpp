// Chapter 11 of the C interface: sessions, their process sets, communicators, error handlers and buffers.
#include <algorithm>
#include <atomic>
#include <future>

#include "shared.hpp"

namespace {

using mpt::c::test::expect_failure;
using mpt::c::test::expect_ring;
using mpt::c::test::processes;
using mpt::c::test::ranks;
using mpt::c::test::thread_of_rank;

using list = std::vector<int>;

MPI_Session opened(MPI_Info info = MPI_INFO_NULL) {
    MPI_Session s = MPI_SESSION_NULL;
    EXPECT_EQ(MPI_Session_init(info, MPI_ERRORS_RETURN, &s), MPI_SUCCESS);
    EXPECT_NE(s, MPI_SESSION_NULL);
    return s;
}
void close(MPI_Session s) {
    EXPECT_EQ(MPI_Session_finalize(&s), MPI_SUCCESS);
    EXPECT_EQ(s, MPI_SESSION_NULL);
}
MPI_Group set_of(MPI_Session s, char const* name) {
    MPI_Group g = MPI_GROUP_NULL;
    EXPECT_EQ(MPI_Group_from_session_pset(s, name, &g), MPI_SUCCESS);
    return g;
}
MPI_Comm comm_of(MPI_Group g, std::string const& tag) {
    MPI_Comm c = MPI_COMM_NULL;
    EXPECT_EQ(MPI_Comm_create_from_group(g, tag.c_str(), MPI_INFO_NULL, MPI_ERRORS_RETURN, &c), MPI_SUCCESS);
    return c;
}
MPI_Comm comm_of(MPI_Session s, char const* set, std::string const& tag) {
    auto g = set_of(s, set);
    auto const c = comm_of(g, tag);
    EXPECT_EQ(MPI_Group_free(&g), MPI_SUCCESS);
    return c;
}
void expect_sum(MPI_Comm c, int mine, int wanted) {
    int sum = -1;
    EXPECT_EQ(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, c), MPI_SUCCESS);
    EXPECT_EQ(sum, wanted);
}
/// Who is who, and that messages arrive; then the communicator is gone.
void expect_all(MPI_Comm c, int me, int size) {
    int rank = -1, n = -1;
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &n);
    EXPECT_EQ(rank, me);
    EXPECT_EQ(n, size);
    expect_ring(c);
    expect_sum(c, me, size * (size - 1) / 2);
    EXPECT_EQ(MPI_Comm_free(&c), MPI_SUCCESS);
}
void expect_world(MPI_Session s, int me, int size, std::string const& tag) {
    expect_all(comm_of(s, "mpi://WORLD", tag), me, size);
}

bool told(int (*ask)(int*)) {
    int flag = -1;
    EXPECT_EQ(ask(&flag), MPI_SUCCESS);
    return flag == 1;
}
std::string value_of(MPI_Info info, char const* key) {
    char text[MPI_MAX_INFO_VAL] = {};
    int length = sizeof text, found = 0;
    EXPECT_EQ(MPI_Info_get_string(info, key, &length, text, &found), MPI_SUCCESS);
    return found ? text : "(none)";
}

TEST(CSessions, ASessionIsEnoughToTalk) {
    processes(3, [](int me, int size) {
        for (int round = 0; round < 3; ++round) {
            auto const s = opened();
            EXPECT_FALSE(told(MPI_Initialized)); // that is about the world model
            expect_world(s, me, size, "a");
            expect_all(comm_of(s, "mpi://SELF", "a"), 0, 1);
            close(s);
            EXPECT_FALSE(told(MPI_Finalized));
        }
    });
}

TEST(CSessions, TheyComeBeforeBesideAndAfterTheWorldModel) {
    processes(3, [](int me, int size) {
        auto const first = opened();
        expect_world(first, me, size, "before");
        EXPECT_EQ(MPI_Init(nullptr, nullptr), MPI_SUCCESS);
        EXPECT_TRUE(told(MPI_Initialized));
        expect_sum(MPI_COMM_WORLD, 1, size);
        auto const second = opened();
        expect_world(second, me, size, "beside");
        close(first);
        expect_sum(MPI_COMM_WORLD, 1, size);
        auto const kept = comm_of(second, "mpi://WORLD", "kept");
        EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS);
        EXPECT_TRUE(told(MPI_Finalized));
        expect_all(kept, me, size);
        close(second);
        for (int round = 0; round < 3; ++round) {
            auto const s = opened();
            expect_world(s, me, size, "after");
            close(s);
        }
    });
}

TEST(CSessions, OneEndsAndTheOthersGoOn) {
    processes(2, [](int me, int size) {
        std::vector<MPI_Session> all;
        for (int i = 0; i < 5; ++i) all.push_back(opened());
        for (std::size_t gone = 0; gone < all.size(); ++gone) {
            for (auto i = gone; i < all.size(); ++i) expect_world(all[i], me, size, "t" + std::to_string(i));
            close(all[gone]);
        }
    });
}

/// MPI-5.0 section 9.1.2.
TEST(CSessions, TheirCommunicatorsTellTheLargestTagAndNothingElseOfTheEnvironment) {
    processes(2, [](int, int) {
        auto const shown = [](MPI_Comm c) {
            std::vector<int> keys;
            for (int key = MPI_TAG_UB; key <= MPI_UNIVERSE_SIZE; ++key) {
                int *value = nullptr, flag = -1;
                EXPECT_EQ(MPI_Comm_get_attr(c, key, &value, &flag), MPI_SUCCESS);
                EXPECT_EQ(flag == 1, value != nullptr) << key;
                if (flag == 1) keys.push_back(key);
            }
            return keys;
        };
        std::vector<int> const largest_tag{MPI_TAG_UB};
        auto const s = opened();
        auto c = comm_of(s, "mpi://WORLD", "told"), copy = c;
        EXPECT_EQ(MPI_Comm_dup(c, &copy), MPI_SUCCESS);
        EXPECT_EQ(MPI_Init(nullptr, nullptr), MPI_SUCCESS);
        EXPECT_EQ(shown(c), largest_tag);
        EXPECT_EQ(shown(copy), largest_tag);
        EXPECT_EQ(shown(MPI_COMM_WORLD).size(), std::size_t{MPI_UNIVERSE_SIZE - MPI_TAG_UB + 1});
        MPI_Comm_free(&copy);
        MPI_Comm_free(&c);
        close(s);
        EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS);
    });
}

TEST(CSessions, ProcessSetsHaveNamesAndSizes) {
    processes(3, [](int, int size) {
        auto const s = opened();
        int n = -1;
        EXPECT_EQ(MPI_Session_get_num_psets(s, MPI_INFO_NULL, &n), MPI_SUCCESS);
        std::vector<std::string> names;
        for (int i = 0; i < n; ++i) {
            int needed = 0;
            EXPECT_EQ(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &needed, nullptr), MPI_SUCCESS);
            std::string whole(static_cast<std::size_t>(needed) + 5, '?');
            int length = needed + 3;
            EXPECT_EQ(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &length, whole.data()), MPI_SUCCESS);
            EXPECT_EQ(length, needed);
            EXPECT_EQ(whole[static_cast<std::size_t>(needed) - 1], '\0');
            EXPECT_EQ(whole[static_cast<std::size_t>(needed)], '?');
            names.emplace_back(whole.c_str());
            EXPECT_EQ(names.back().size() + 1, static_cast<std::size_t>(needed));
            char cut[5] = "????";
            int room = 4;
            EXPECT_EQ(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &room, cut), MPI_SUCCESS);
            EXPECT_EQ(room, needed);
            EXPECT_EQ(cut, names.back().substr(0, 3));
        }
        EXPECT_EQ(names, (std::vector<std::string>{"mpi://WORLD", "mpi://SELF"}));
        for (auto const* const name : {"mpi://world", "mpi://Self", "MPI://SELF"}) { // a set's name is written as one likes
            auto g = set_of(s, name);
            int members = -1;
            MPI_Group_size(g, &members);
            EXPECT_EQ(members, name[6] == 'w' ? size : 1);
            MPI_Group_free(&g);
        }
        for (auto const& name : names) {
            MPI_Info known = MPI_INFO_NULL;
            EXPECT_EQ(MPI_Session_get_pset_info(s, name.c_str(), &known), MPI_SUCCESS);
            EXPECT_EQ(value_of(known, "mpi_size"), std::to_string(name == "mpi://SELF" ? 1 : size));
            MPI_Info_free(&known);
            auto g = set_of(s, name.c_str());
            int members = -1;
            MPI_Group_size(g, &members);
            EXPECT_EQ(members, name == "mpi://SELF" ? 1 : size);
            MPI_Group_free(&g);
        }
        close(s);
    });
}

TEST(CSessions, WhatIsWrongIsTheSessionsError) {
    processes(1, [](int, int) {
        auto const s = opened();
        int length = 10;
        char name[10];
        MPI_Group g = MPI_GROUP_NULL;
        MPI_Info info = MPI_INFO_NULL;
        expect_failure(MPI_Group_from_session_pset(s, "mpi://nobody", &g), MPI_ERR_ARG,
                       {"MPI_Group_from_session_pset", "\"mpi://nobody\"", "mpi://WORLD and mpi://SELF"});
        expect_failure(MPI_Group_from_session_pset(s, nullptr, &g), MPI_ERR_ARG, {"pset_name is a null pointer"});
        expect_failure(MPI_Session_get_pset_info(s, "app://none", &info), MPI_ERR_ARG, {"\"app://none\""});
        expect_failure(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, 2, &length, name), MPI_ERR_ARG, {"n is 2; allowed: 0 to 1"});
        expect_failure(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, -1, &length, name), MPI_ERR_ARG, {"n is -1"});
        length = -1;
        expect_failure(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, 0, &length, name), MPI_ERR_ARG, {"pset_len is -1"});
        expect_failure(MPI_Session_get_num_psets(s, MPI_INFO_NULL, nullptr), MPI_ERR_ARG, {"npset_names is a null pointer"});
        close(s);
    });
}

TEST(CSessions, ALevelOfThreadsIsAskedForByAHint) {
    processes(1, [](int, int) {
        for (auto const* level : {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE",
                                  "MPI_THREAD_WHATEVER", ""}) {
            MPI_Info wanted = MPI_INFO_NULL, used = MPI_INFO_NULL;
            MPI_Info_create(&wanted);
            if (*level) MPI_Info_set(wanted, "thread_level", level);
            auto const s = opened(wanted);
            EXPECT_EQ(MPI_Session_get_info(s, &used), MPI_SUCCESS);
            auto const known = *level && std::string{level} != "MPI_THREAD_WHATEVER";
            EXPECT_EQ(value_of(used, "thread_level"), known ? level : "MPI_THREAD_MULTIPLE");
            auto const kinds = value_of(used, "mpi_memory_alloc_kinds");
            for (auto const* kind : {"mpi", "system"}) EXPECT_NE(kinds.find(kind), std::string::npos) << kinds;
            MPI_Info_free(&wanted);
            MPI_Info_free(&used);
            close(s);
        }
    });
}

TEST(CSessions, KindsOfMemoryAreProvidedToWhatComesFromTheSessionThatWantsThem) {
    processes(2, [](int, int) {
        MPI_Info wanted = MPI_INFO_NULL, used = MPI_INFO_NULL, asserted = MPI_INFO_NULL;
        MPI_Info_create(&wanted), MPI_Info_create(&asserted);
        MPI_Info_set(wanted, "mpi_memory_alloc_kinds", "mpi:win_allocate,level_zero:shared");
        MPI_Info_set(asserted, "mpi_assert_memory_alloc_kinds", "mpi:win_allocate");
        auto const s = opened(wanted), plain = opened();
        auto const kinds = [&](auto get, auto of, char const* key = "mpi_memory_alloc_kinds") {
            EXPECT_EQ(get(of, &used), MPI_SUCCESS);
            auto value = value_of(used, key);
            MPI_Info_free(&used);
            return value;
        };
        EXPECT_EQ(kinds(MPI_Session_get_info, s), "mpi,system,mpi:win_allocate");
        EXPECT_EQ(kinds(MPI_Session_get_info, plain), "mpi,system");
        auto group = set_of(s, "mpi://WORLD");
        MPI_Comm c = MPI_COMM_NULL;
        EXPECT_EQ(MPI_Comm_create_from_group(group, "kinds", asserted, MPI_ERRORS_RETURN, &c), MPI_SUCCESS);
        EXPECT_EQ(kinds(MPI_Comm_get_info, c), "mpi,system,mpi:win_allocate");
        EXPECT_EQ(kinds(MPI_Comm_get_info, c, "mpi_assert_memory_alloc_kinds"), "mpi:win_allocate");
        MPI_Win w = MPI_WIN_NULL;
        int* base = nullptr;
        EXPECT_EQ(MPI_Win_allocate(4, 4, MPI_INFO_NULL, c, &base, &w), MPI_SUCCESS);
        EXPECT_EQ(kinds(MPI_Win_get_info, w), "mpi,system,mpi:win_allocate");
        MPI_Win_free(&w);
        MPI_Comm_free(&c);
        MPI_Group_free(&group);
        MPI_Info_free(&wanted), MPI_Info_free(&asserted);
        close(s);
        close(plain);
    });
}

/// Random groups of random orders: each round every rank knows which group is made by whom, in which order.
TEST(CSessions, CommunicatorsOfRandomGroupsHaveTheirMembersAndNoOthers) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    processes(5, [seed](int me, int size) {
        std::mt19937 random{seed}; // the same on all ranks
        auto const s = opened();
        auto all = set_of(s, "mpi://WORLD");
        for (int round = 0; round < 60; ++round) {
            list who(static_cast<std::size_t>(size));
            std::iota(who.begin(), who.end(), 0);
            std::shuffle(who.begin(), who.end(), random);
            who.resize(1 + random() % who.size());
            auto const tag = "tag " + std::to_string(random() % 2) + std::string(random() % 3 * 400, 'x');
            auto const at = std::ranges::find(who, me);
            if (at == who.end()) continue;
            MPI_Group g = MPI_GROUP_NULL, theirs = MPI_GROUP_NULL;
            MPI_Group_incl(all, static_cast<int>(who.size()), who.data(), &g);
            auto const c = comm_of(g, tag);
            int same = -1;
            MPI_Comm_group(c, &theirs);
            MPI_Group_compare(g, theirs, &same);
            EXPECT_EQ(same, MPI_IDENT);
            expect_all(c, static_cast<int>(at - who.begin()), static_cast<int>(who.size()));
            MPI_Group_free(&g);
            MPI_Group_free(&theirs);
        }
        MPI_Group_free(&all);
        close(s);
    });
}

TEST(CSessions, OnlyItsGroupMakesACommunicator) {
    std::promise<void> made;
    auto const after = made.get_future().share();
    processes(3, [&](int me, int) {
        if (me == 1) after.wait(); // has not called MPI when the two others talk
        auto const s = opened();
        auto all = set_of(s, "mpi://WORLD");
        if (me != 1) {
            list const two{2, 0};
            MPI_Group g = MPI_GROUP_NULL;
            MPI_Group_incl(all, 2, two.data(), &g);
            expect_all(comm_of(g, "two"), me == 2 ? 0 : 1, 2);
            MPI_Group_free(&g);
            if (me == 0) made.set_value();
        }
        expect_all(comm_of(all, "all"), me, 3);
        MPI_Group_free(&all);
        close(s);
    });
}

TEST(CSessions, WhoOpensOneMeetsNobody) {
    processes(2, [](int me, int) {
        if (me == 1) return; // never calls MPI
        auto const s = opened();
        expect_all(comm_of(s, "mpi://SELF", ""), 0, 1);
        close(s);
    });
}

TEST(CSessions, SeveralThreadsMakeCommunicatorsAtOnceByTheirTags) {
    processes(2, [](int me, int size) {
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t)
            threads.push_back(thread_of_rank([me, size, t] {
                for (int round = 0; round < 10; ++round) {
                    auto const s = opened();
                    expect_world(s, me, size, "thread " + std::to_string(t));
                    close(s);
                }
            }));
        for (auto& t : threads) t.join();
    });
}

TEST(CSessions, AGroupThatCannotMakeACommunicatorIsRefused) {
    processes(2, [](int me, int) {
        auto const s = opened();
        auto all = set_of(s, "mpi://WORLD"), other = MPI_GROUP_NULL;
        int const peer = 1 - me;
        MPI_Group_incl(all, 1, &peer, &other);
        MPI_Comm c = MPI_COMM_SELF;
        auto const make = [&](MPI_Group g, char const* tag) {
            return MPI_Comm_create_from_group(g, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &c);
        };
        EXPECT_EQ(make(MPI_GROUP_EMPTY, "nobody"), MPI_SUCCESS);
        EXPECT_EQ(c, MPI_COMM_NULL);
        expect_failure(make(other, "not me"), MPI_ERR_GROUP, {"MPI_Comm_create_from_group", "is not in group"});
        expect_failure(make(MPI_GROUP_NULL, "null"), MPI_ERR_GROUP, {"group is MPI_GROUP_NULL"});
        expect_failure(make(all, nullptr), MPI_ERR_ARG, {"stringtag is a null pointer"});
        auto const longest = std::string(MPI_MAX_STRINGTAG_LEN, 'x');
        expect_failure(make(all, (longest + 'x').c_str()), MPI_ERR_ARG, {"stringtag has 1025 characters", "1024"});
        EXPECT_EQ(make(all, longest.c_str()), MPI_SUCCESS);
        expect_all(c, me, 2);
        close(s);
        EXPECT_EQ(MPI_Init(nullptr, nullptr), MPI_SUCCESS);
        expect_failure(make(all, "late"), MPI_ERR_SESSION, {"the session that group comes from was finalized"});
        MPI_Group_free(&all);
        MPI_Group_free(&other);
        MPI_Finalize();
    });
}

TEST(CSessions, WhatComesFromDifferentOnesIsNotMixed) {
    processes(1, [](int, int) {
        MPI_Init(nullptr, nullptr);
        for (auto c : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
        auto const s = opened(), t = opened();
        auto of_s = set_of(s, "mpi://WORLD"), of_t = set_of(t, "mpi://WORLD"), of_world = MPI_GROUP_NULL, made = MPI_GROUP_NULL;
        auto c = comm_of(of_s, "s"), d = comm_of(of_t, "t"), none = MPI_COMM_NULL;
        MPI_Comm_group(MPI_COMM_WORLD, &of_world);
        auto const both = "from a session, and group2 from another session";
        expect_failure(MPI_Group_union(of_s, of_t, &made), MPI_ERR_SESSION, {"MPI_Group_union", "group1 comes ", both});
        expect_failure(MPI_Group_intersection(of_s, of_t, &made), MPI_ERR_SESSION, {both});
        expect_failure(MPI_Group_difference(of_world, of_t, &made), MPI_ERR_SESSION,
                       {"from MPI_COMM_WORLD's model, and group2 from a session"});
        expect_failure(MPI_Comm_create(c, of_t, &none), MPI_ERR_SESSION, {"MPI_Comm_create", "group from another session"});
        expect_failure(MPI_Comm_create_group(MPI_COMM_WORLD, of_s, 0, &none), MPI_ERR_SESSION, {"comm comes", "group from a"});
        expect_failure(MPI_Intercomm_create(c, 0, d, 0, 0, &none), MPI_ERR_SESSION, {"local_comm", "peer_comm from another"});
        EXPECT_EQ(none, MPI_COMM_NULL);
        EXPECT_EQ(MPI_Group_union(of_s, MPI_GROUP_EMPTY, &made), MPI_SUCCESS); // which comes from nowhere
        int same = -1;
        EXPECT_EQ(MPI_Group_compare(made, of_t, &same), MPI_SUCCESS); // looked at only
        EXPECT_EQ(same, MPI_IDENT);
        auto mixed = MPI_GROUP_NULL;
        expect_failure(MPI_Group_union(made, of_t, &mixed), MPI_ERR_SESSION, {both}); // it knows where it comes from
        for (auto* g : {&of_s, &of_t, &of_world, &made}) MPI_Group_free(g);
        for (auto* x : {&c, &d}) MPI_Comm_free(x);
        close(s);
        close(t);
        MPI_Finalize();
    });
}

/// Random sides and leaders; only the leaders know the other side.
TEST(CSessions, TwoGroupsMakeAnIntercommunicator) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    processes(5, [seed](int me, int size) {
        std::mt19937 random{seed}; // the same on all ranks
        auto const s = opened();
        auto all = set_of(s, "mpi://WORLD");
        for (int round = 0; round < 30; ++round) {
            list who(static_cast<std::size_t>(size));
            std::iota(who.begin(), who.end(), 0);
            std::shuffle(who.begin(), who.end(), random);
            auto const cut = static_cast<std::ptrdiff_t>(1 + random() % 3),
                       end = cut + 1 + static_cast<std::ptrdiff_t>(random() % 2);
            list const sides[2]{{who.begin(), who.begin() + cut}, {who.begin() + cut, who.begin() + end}};
            int const leaders[2]{static_cast<int>(random() % sides[0].size()), static_cast<int>(random() % sides[1].size())};
            for (int mine : {0, 1}) {
                auto const& here = sides[mine];
                auto const& there = sides[1 - mine];
                auto const at = std::ranges::find(here, me);
                if (at == here.end()) continue;
                auto const rank = static_cast<int>(at - here.begin());
                MPI_Group local = MPI_GROUP_NULL, remote = MPI_GROUP_NULL, told = MPI_GROUP_NULL;
                MPI_Group_incl(all, static_cast<int>(here.size()), here.data(), &local);
                MPI_Group_incl(all, static_cast<int>(there.size()), there.data(), &remote);
                MPI_Comm c = MPI_COMM_NULL;
                bool const leads = rank == leaders[mine];
                EXPECT_EQ(MPI_Intercomm_create_from_groups(local, leaders[mine], leads ? remote : MPI_GROUP_NULL,
                                                           leads ? leaders[1 - mine] : -1, "two", MPI_INFO_NULL,
                                                           MPI_ERRORS_RETURN, &c),
                          MPI_SUCCESS);
                int same = -1;
                MPI_Comm_remote_group(c, &told);
                MPI_Group_compare(told, remote, &same);
                EXPECT_EQ(same, MPI_IDENT);
                std::vector<MPI_Request> sends(there.size());
                for (std::size_t i = 0; i < there.size(); ++i)
                    MPI_Isend(&me, 1, MPI_INT, static_cast<int>(i), rank, c, &sends[i]);
                for (std::size_t i = 0; i < there.size(); ++i) {
                    int got = -1;
                    MPI_Recv(&got, 1, MPI_INT, static_cast<int>(i), static_cast<int>(i), c, MPI_STATUS_IGNORE);
                    EXPECT_EQ(got, there[i]);
                }
                MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
                EXPECT_EQ(MPI_Comm_free(&c), MPI_SUCCESS);
                for (auto* g : {&local, &remote, &told}) MPI_Group_free(g);
            }
        }
        MPI_Group_free(&all);
        close(s);
    });
}

TEST(CSessions, HintsAndErrorHandlerAreTheNewCommunicators) {
    processes(2, [](int, int) {
        auto const s = opened();
        auto all = set_of(s, "mpi://WORLD");
        MPI_Info hints = MPI_INFO_NULL, used = MPI_INFO_NULL;
        MPI_Info_create(&hints);
        MPI_Info_set(hints, "mpi_assert_no_any_tag", "true");
        MPI_Comm c = MPI_COMM_NULL;
        EXPECT_EQ(MPI_Comm_create_from_group(all, "t", hints, MPI_ERRORS_RETURN, &c), MPI_SUCCESS);
        MPI_Comm_get_info(c, &used);
        EXPECT_EQ(value_of(used, "mpi_assert_no_any_tag"), "true");
        MPI_Errhandler h = MPI_ERRHANDLER_NULL;
        MPI_Comm_get_errhandler(c, &h);
        EXPECT_EQ(h, MPI_ERRORS_RETURN);
        expect_failure(MPI_Send(nullptr, 0, MPI_INT, 2, 0, c), MPI_ERR_RANK, {"dest is 2"});
        MPI_Info_free(&hints);
        MPI_Info_free(&used);
        MPI_Comm_free(&c);
        MPI_Group_free(&all);
        close(s);
    });
}

// --- error handlers -------------------------------------------------------------------------------------------------------------

struct seen {
    MPI_Session session;
    int code;
    friend bool operator==(seen const&, seen const&) = default;
};
thread_local std::vector<seen> calls;
void note(MPI_Session* s, int* code, ...) { calls.push_back({*s, *code}); }
thread_local int comm_calls = 0;
void note_comm(MPI_Comm*, int*, ...) { ++comm_calls; }

TEST(CSessions, AHandlerIsCalledWithItsSessionAndTheCode) {
    processes(1, [](int, int) {
        calls.clear();
        MPI_Errhandler mine = MPI_ERRHANDLER_NULL, told = MPI_ERRHANDLER_NULL;
        EXPECT_EQ(MPI_Session_create_errhandler(note, &mine), MPI_SUCCESS);
        auto const s = opened();
        EXPECT_EQ(MPI_Session_get_errhandler(s, &told), MPI_SUCCESS);
        EXPECT_EQ(told, MPI_ERRORS_RETURN);
        EXPECT_EQ(MPI_Session_set_errhandler(s, mine), MPI_SUCCESS);
        EXPECT_EQ(MPI_Session_get_errhandler(s, &told), MPI_SUCCESS);
        EXPECT_EQ(told, mine);
        MPI_Errhandler_free(&told);
        MPI_Group g = MPI_GROUP_NULL;
        EXPECT_EQ(MPI_Group_from_session_pset(s, "none", &g), MPI_ERR_ARG);
        EXPECT_EQ(calls, (std::vector<seen>{{s, MPI_ERR_ARG}}));
        EXPECT_EQ(MPI_Session_call_errhandler(s, MPI_ERR_TOPOLOGY), MPI_SUCCESS);
        EXPECT_EQ(calls.back(), (seen{s, MPI_ERR_TOPOLOGY}));
        MPI_Session_set_errhandler(s, MPI_ERRORS_RETURN);
        EXPECT_EQ(MPI_Session_call_errhandler(s, MPI_ERR_TOPOLOGY), MPI_SUCCESS);
        EXPECT_EQ(calls.size(), 2u);
        MPI_Errhandler other = MPI_ERRHANDLER_NULL;
        MPI_Comm_create_errhandler(note_comm, &other);
        expect_failure(MPI_Session_set_errhandler(s, other), MPI_ERR_ERRHANDLER, {"needed is one for sessions"});
        MPI_Errhandler_free(&other);
        MPI_Errhandler_free(&mine);
        close(s);
    });
}

/// A group refers to its session. MPI-4.1 section 9.3.
TEST(CSessions, ErrorsOfAGroupAreItsSessions) {
    ranks(1, [](int, int) {
        auto const s = opened();
        MPI_Errhandler of_sessions = MPI_ERRHANDLER_NULL, of_comms = MPI_ERRHANDLER_NULL;
        MPI_Session_create_errhandler(note, &of_sessions);
        MPI_Comm_create_errhandler(note_comm, &of_comms);
        MPI_Session_set_errhandler(s, of_sessions);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, of_comms);
        calls.clear();
        comm_calls = 0;
        auto const expect = [&](int code, int wanted) {
            EXPECT_EQ(code, wanted);
            EXPECT_EQ(calls, (std::vector<seen>{{s, wanted}}));
            calls.clear();
        };
        auto g = set_of(s, "mpi://SELF");
        auto c = comm_of(g, "one");
        MPI_Group theirs = MPI_GROUP_NULL, made = MPI_GROUP_NULL, worlds = MPI_GROUP_NULL;
        MPI_Comm_group(c, &theirs);
        MPI_Comm_group(MPI_COMM_SELF, &worlds);
        int const five[] = {5};
        int n = 0;
        for (auto one : {g, theirs}) {
            expect(MPI_Group_size(one, nullptr), MPI_ERR_ARG);
            expect(MPI_Group_incl(one, 1, five, &made), MPI_ERR_RANK);
            expect(MPI_Group_translate_ranks(one, 1, five, worlds, &n), MPI_ERR_RANK);
            expect(MPI_Group_union(one, MPI_GROUP_NULL, &made), MPI_ERR_GROUP);
        }
        EXPECT_EQ(comm_calls, 0);
        EXPECT_EQ(MPI_Group_incl(worlds, 1, five, &made), MPI_ERR_RANK); // no session's
        EXPECT_EQ(comm_calls, 1);
        EXPECT_EQ(calls, std::vector<seen>{});
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        for (auto* one : {&g, &theirs, &worlds}) MPI_Group_free(one);
        for (auto* h : {&of_sessions, &of_comms}) MPI_Errhandler_free(h);
        MPI_Comm_free(&c);
        close(s);
    });
}

TEST(CSessions, ErrorsOfANewObjectAreItsHandlers) {
    ranks(1, [](int, int) {
        calls.clear();
        comm_calls = 0;
        MPI_Errhandler of_sessions = MPI_ERRHANDLER_NULL, of_comms = MPI_ERRHANDLER_NULL;
        MPI_Session_create_errhandler(note, &of_sessions);
        MPI_Comm_create_errhandler(note_comm, &of_comms);
        MPI_Info dead = MPI_INFO_NULL, copy = MPI_INFO_NULL;
        MPI_Info_create(&dead);
        copy = dead;
        MPI_Info_free(&dead);
        MPI_Session s = MPI_SESSION_NULL;
        EXPECT_EQ(MPI_Session_init(copy, of_sessions, &s), MPI_ERR_INFO);
        EXPECT_EQ(calls, (std::vector<seen>{{MPI_SESSION_NULL, MPI_ERR_INFO}}));
        expect_failure(MPI_Session_init(MPI_INFO_NULL, of_comms, &s), MPI_ERR_ERRHANDLER, {"needed is one for sessions"});
        EXPECT_EQ(comm_calls, 0);
        EXPECT_EQ(MPI_Session_init(MPI_INFO_NULL, of_sessions, &s), MPI_SUCCESS);
        EXPECT_EQ(MPI_Session_call_errhandler(s, MPI_ERR_ARG), MPI_SUCCESS);
        EXPECT_EQ(calls.size(), 2u);
        auto g = set_of(s, "mpi://SELF");
        MPI_Comm c = MPI_COMM_NULL;
        EXPECT_EQ(MPI_Comm_create_from_group(g, nullptr, MPI_INFO_NULL, of_comms, &c), MPI_ERR_ARG);
        EXPECT_EQ(comm_calls, 1);
        EXPECT_EQ(MPI_Comm_create_from_group(MPI_GROUP_NULL, "t", MPI_INFO_NULL, of_comms, &c), MPI_ERR_GROUP);
        EXPECT_EQ(comm_calls, 2);
        expect_failure(MPI_Comm_create_from_group(g, "t", MPI_INFO_NULL, of_sessions, &c), MPI_ERR_ERRHANDLER,
                       {"needed is one for communicators"});
        MPI_Group_free(&g);
        MPI_Errhandler_free(&of_sessions);
        MPI_Errhandler_free(&of_comms);
        close(s);
    });
}

// --- buffers --------------------------------------------------------------------------------------------------------------------

TEST(CSessions, ABufferIsForTheSessionsCommunicators) {
    processes(2, [](int me, int) {
        auto const s = opened();
        auto const c = comm_of(s, "mpi://WORLD", "buffered");
        auto twin = mpt::c::test::dup_of(c);
        std::vector<std::byte> room(1000 + MPI_BSEND_OVERHEAD), own(100 + MPI_BSEND_OVERHEAD);
        std::vector<char> out(1000, 'o'), in(1000);
        void* back = nullptr;
        MPI_Count size = -1;
        int small = -1;
        auto const send = [&](MPI_Comm on, int n) { return MPI_Bsend(out.data(), n, MPI_CHAR, 1 - me, 3, on); };
        auto const receive = [&](MPI_Comm on, int n) {
            std::ranges::fill(in, '-');
            MPI_Recv(in.data(), 1000, MPI_CHAR, 1 - me, 3, on, MPI_STATUS_IGNORE);
            EXPECT_EQ(std::ranges::count(in, 'o'), n);
        };
        expect_failure(send(c, 1), MPI_ERR_BUFFER, {"no buffer is attached"});
        EXPECT_EQ(MPI_Session_attach_buffer_c(s, room.data(), static_cast<MPI_Count>(room.size())), MPI_SUCCESS);
        expect_failure(MPI_Session_attach_buffer(s, room.data(), 10), MPI_ERR_BUFFER, {"is attached already"});
        for (auto on : {c, twin}) {
            EXPECT_EQ(send(on, 1000), MPI_SUCCESS);
            receive(on, 1000);
            EXPECT_EQ(MPI_Session_flush_buffer(s), MPI_SUCCESS);
        }
        EXPECT_EQ(MPI_Comm_attach_buffer(twin, own.data(), static_cast<int>(own.size())), MPI_SUCCESS); // comes first
        expect_failure(send(twin, 101), MPI_ERR_BUFFER, {"needs"});
        EXPECT_EQ(MPI_Comm_detach_buffer(twin, &back, &small), MPI_SUCCESS);
        MPI_Request r = MPI_REQUEST_NULL;
        EXPECT_EQ(send(c, 900), MPI_SUCCESS);
        EXPECT_EQ(MPI_Session_iflush_buffer(s, &r), MPI_SUCCESS);
        receive(c, 900);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(MPI_Session_detach_buffer_c(s, &back, &size), MPI_SUCCESS);
        EXPECT_EQ(back, room.data());
        EXPECT_EQ(size, static_cast<MPI_Count>(room.size()));
        EXPECT_EQ(MPI_Session_attach_buffer(s, MPI_BUFFER_AUTOMATIC, 0), MPI_SUCCESS);
        EXPECT_EQ(send(c, 1000), MPI_SUCCESS);
        receive(c, 1000);
        EXPECT_EQ(MPI_Session_detach_buffer(s, &back, &small), MPI_SUCCESS);
        EXPECT_EQ(back, MPI_BUFFER_AUTOMATIC);
        expect_failure(MPI_Session_detach_buffer(s, &back, &small), MPI_ERR_BUFFER, {"no buffer is attached"});
        expect_all(twin, me, 2);
        expect_all(c, me, 2);
        close(s);
    });
}

/// It comes back when the other side has begun to receive what was sent, not before.
TEST(CSessions, AFlushWaitsForTheMessagesOfTheSession) {
    std::atomic<int> begun{0};
    processes(2, [&](int me, int) {
        auto const s = opened();
        auto const c = comm_of(s, "mpi://WORLD", "flushed");
        constexpr int n = 5'000'000; // more than goes without being asked for
        std::vector<char> data(n);
        EXPECT_EQ(MPI_Session_attach_buffer(s, MPI_BUFFER_AUTOMATIC, 0), MPI_SUCCESS);
        for (int round = 0; round < 10; ++round) {
            if (me == 1) {
                MPI_Recv(nullptr, 0, MPI_CHAR, 0, 1, c, MPI_STATUS_IGNORE);
                ++begun;
                MPI_Recv(data.data(), n, MPI_CHAR, 0, 2, c, MPI_STATUS_IGNORE);
                continue;
            }
            EXPECT_EQ(MPI_Bsend(data.data(), n, MPI_CHAR, 1, 2, c), MPI_SUCCESS);
            MPI_Send(nullptr, 0, MPI_CHAR, 1, 1, c);
            MPI_Request r = MPI_REQUEST_NULL;
            if (round % 2 == 0) {
                EXPECT_EQ(MPI_Session_flush_buffer(s), MPI_SUCCESS);
            } else {
                EXPECT_EQ(MPI_Session_iflush_buffer(s, &r), MPI_SUCCESS);
                EXPECT_NE(r, MPI_REQUEST_NULL);
                EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
            }
            EXPECT_EQ(begun, round + 1);
        }
        expect_all(c, me, 2);
        close(s);
    });
}

// --- the end --------------------------------------------------------------------------------------------------------------------

thread_local int removed = 0;
int note_removal(MPI_Comm, int, void*, void*) { return ++removed, MPI_SUCCESS; }

TEST(CSessions, CommunicatorsEndWithTheirSession) {
    ranks(2, [](int me, int size) {
        removed = 0;
        auto s = opened();
        auto const other = opened();
        auto const c = comm_of(s, "mpi://WORLD", "one"), kept = comm_of(other, "mpi://WORLD", "two");
        auto const twin = mpt::c::test::dup_of(c);
        MPI_Comm part = MPI_COMM_NULL;
        MPI_Comm_split(twin, 0, -me, &part);
        int key = MPI_KEYVAL_INVALID, x = me, y = -1;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note_removal, &key, nullptr);
        for (auto on : {c, twin, part}) MPI_Comm_set_attr(on, key, nullptr);
        MPI_Comm_free_keyval(&key);
        MPI_Request r = MPI_REQUEST_NULL;
        MPI_Irecv(&y, 1, MPI_INT, 1 - me, 0, twin, &r);
        auto const dead = s;
        expect_failure(MPI_Session_finalize(&s), MPI_ERR_PENDING, {"operations are under way", ": 1"});
        EXPECT_EQ(s, dead);
        MPI_Send(&x, 1, MPI_INT, 1 - me, 0, twin);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        EXPECT_EQ(y, 1 - me);
        close(s);
        EXPECT_EQ(removed, 3);
        for (auto on : {c, twin, part}) expect_failure(MPI_Comm_rank(on, &x), MPI_ERR_COMM, {"freed"});
        s = dead;
        expect_failure(MPI_Session_finalize(&s), MPI_ERR_SESSION, {"session is 0x", "freed"});
        s = MPI_SESSION_NULL;
        expect_failure(MPI_Session_finalize(&s), MPI_ERR_SESSION, {"MPI_SESSION_NULL"});
        expect_all(kept, me, size);
        close(other);
    });
}

TEST(CSessions, AHandleHasAnInteger) {
    processes(1, [](int, int) {
        auto const a = opened(), b = opened();
        EXPECT_NE(MPI_Session_toint(a), MPI_Session_toint(b));
        EXPECT_EQ(MPI_Session_fromint(MPI_Session_toint(a)), a);
        EXPECT_EQ(MPI_Session_fromint(MPI_Session_toint(b)), b);
        EXPECT_EQ(MPI_Session_fromint(MPI_Session_toint(MPI_SESSION_NULL)), MPI_SESSION_NULL);
        close(a);
        close(b);
    });
}

TEST(CSessions, WhatNeedsNoObjectWorksInASession) {
    processes(2, [](int me, int) {
        auto const s = opened();
        auto const c = comm_of(s, "mpi://WORLD", "t");
        int level = -1, *bound = nullptr, found = 0;
        EXPECT_EQ(MPI_Query_thread(&level), MPI_SUCCESS);
        EXPECT_EQ(level, MPI_THREAD_MULTIPLE);
        EXPECT_TRUE(told(MPI_Is_thread_main));
        EXPECT_EQ(MPI_Comm_get_attr(c, MPI_TAG_UB, &bound, &found), MPI_SUCCESS);
        EXPECT_TRUE(found && *bound >= 32767);
        char* memory = nullptr;
        EXPECT_EQ(MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory), MPI_SUCCESS);
        EXPECT_EQ(MPI_Free_mem(memory), MPI_SUCCESS);
        MPI_Datatype pair = MPI_DATATYPE_NULL;
        EXPECT_EQ(MPI_Type_contiguous(2, MPI_INT, &pair), MPI_SUCCESS);
        EXPECT_EQ(MPI_Type_commit(&pair), MPI_SUCCESS);
        int out[2] = {me, 7}, in[2] = {};
        MPI_Sendrecv(out, 1, pair, 1 - me, 1, in, 1, pair, 1 - me, 1, c, MPI_STATUS_IGNORE);
        EXPECT_EQ(in[0], 1 - me);
        EXPECT_EQ(in[1], 7);
        EXPECT_EQ(MPI_Type_free(&pair), MPI_SUCCESS);
        MPI_Message nobody = MPI_MESSAGE_NULL;
        EXPECT_EQ(MPI_Mprobe(MPI_PROC_NULL, 0, c, &nobody, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(MPI_Mrecv(nullptr, 0, MPI_INT, &nobody, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0), MPI_SUCCESS);
        MPI_Request r = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Buffer_iflush(&r), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        void* back = nullptr;
        int size = -1;
        EXPECT_EQ(MPI_Buffer_detach(&back, &size), MPI_SUCCESS);
        expect_all(c, me, 2);
        close(s);
    });
}

} // namespace
