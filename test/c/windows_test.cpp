// Chapter 12 of the C interface: windows as objects - how they are made and freed, their memory, group, name, hints, attributes and
// error handlers. What is read and written through them stands in onesided_test.cpp and its kin.
#include <algorithm>
#include <map>

#include "../support/huge_pages.hpp"
#include "shared.hpp"

namespace {

using mpt::c::test::dup_of;
using mpt::c::test::expect_failure;
using mpt::c::test::members;
using mpt::c::test::ranks;

using longs = std::vector<long>;

struct made {
    MPI_Win win = MPI_WIN_NULL;
    long* base = nullptr;
};

made allocated(MPI_Comm c, MPI_Aint longs_here, MPI_Info info = MPI_INFO_NULL) {
    made m;
    EXPECT_EQ(MPI_Win_allocate(longs_here * MPI_Aint{sizeof(long)}, sizeof(long), info, c, &m.base, &m.win), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_set_errhandler(m.win, MPI_ERRORS_RETURN), MPI_SUCCESS);
    return m;
}
MPI_Win dynamic(MPI_Comm c) {
    MPI_Win w = MPI_WIN_NULL;
    EXPECT_EQ(MPI_Win_create_dynamic(MPI_INFO_NULL, c, &w), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN), MPI_SUCCESS);
    return w;
}
void expect_free(MPI_Win w) {
    EXPECT_EQ(MPI_Win_free(&w), MPI_SUCCESS);
    EXPECT_EQ(w, MPI_WIN_NULL);
}

/// The value of a window's own attribute: the base itself, or what a pointer points to.
template <class T> T told(MPI_Win w, int key) {
    void* value = nullptr;
    int flag = 0;
    EXPECT_EQ(MPI_Win_get_attr(w, key, &value, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    if constexpr (std::is_pointer_v<T>) return static_cast<T>(value);
    else return *static_cast<T*>(value);
}
void expect_told(MPI_Win w, void* base, MPI_Aint size, int unit, int flavor) {
    EXPECT_EQ(told<void*>(w, MPI_WIN_BASE), base);
    EXPECT_EQ(told<MPI_Aint>(w, MPI_WIN_SIZE), size);
    EXPECT_EQ(told<int>(w, MPI_WIN_DISP_UNIT), unit);
    EXPECT_EQ(told<int>(w, MPI_WIN_CREATE_FLAVOR), flavor);
    EXPECT_EQ(told<int>(w, MPI_WIN_MODEL), MPI_WIN_UNIFIED);
}

// --- how they are made ----------------------------------------------------------------------------------------------------------

TEST(CWindows, EverySortTellsWhereItsMemoryIs) {
    ranks(3, [](int me, int) {
        longs own(static_cast<std::size_t>(me + 1));
        auto const bytes = static_cast<MPI_Aint>(own.size() * sizeof(long));
        for (bool const large : {false, true}) {
            MPI_Win w = MPI_WIN_NULL;
            long* at = nullptr;
            EXPECT_EQ(large ? MPI_Win_create_c(own.data(), bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &w)
                            : MPI_Win_create(own.data(), bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &w),
                      MPI_SUCCESS);
            expect_told(w, own.data(), bytes, 4, MPI_WIN_FLAVOR_CREATE);
            expect_free(w);
            EXPECT_EQ(large ? MPI_Win_allocate_c(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &w)
                            : MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &w),
                      MPI_SUCCESS);
            std::fill_n(at, me + 1, 7L); // ours
            expect_told(w, at, bytes, 8, MPI_WIN_FLAVOR_ALLOCATE);
            expect_free(w);
            EXPECT_EQ(large ? MPI_Win_allocate_shared_c(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &w)
                            : MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &w),
                      MPI_SUCCESS);
            expect_told(w, at, bytes, 1, MPI_WIN_FLAVOR_SHARED);
            expect_free(w);
        }
        auto const w = dynamic(MPI_COMM_WORLD);
        expect_told(w, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
        expect_free(w);
    });
}

TEST(CWindows, NobodyNeedsToBringMemory) {
    ranks(2, [](int me, int) {
        MPI_Win w = MPI_WIN_NULL;
        long x = 0;
        EXPECT_EQ(MPI_Win_create(me == 0 ? nullptr : &x, me == 0 ? 0 : sizeof x, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w),
                  MPI_SUCCESS);
        expect_free(w);
        expect_free(allocated(MPI_COMM_WORLD, me).win);
        void* base = nullptr;
        EXPECT_EQ(MPI_Win_allocate_shared(0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w), MPI_SUCCESS);
        expect_free(w);
    });
}

TEST(CWindows, MemoryBeginsWhereTheHintSays) {
    ranks(2, [](int, int) {
        MPI_Info hints = MPI_INFO_NULL;
        MPI_Info_create(&hints);
        MPI_Info_set(hints, "mpi_minimum_memory_alignment", "65536");
        auto const is_aligned = [](void const* p) { return reinterpret_cast<std::uintptr_t>(p) % 65536 == 0; };
        auto const m = allocated(MPI_COMM_WORLD, 3, hints);
        EXPECT_TRUE(is_aligned(m.base));
        expect_free(m.win);
        MPI_Win w = MPI_WIN_NULL;
        void* at = nullptr;
        MPI_Aint size = 0;
        int unit = 0;
        EXPECT_EQ(MPI_Win_allocate_shared(100, 1, hints, MPI_COMM_WORLD, &at, &w), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_shared_query(w, 0, &size, &unit, &at), MPI_SUCCESS);
        EXPECT_TRUE(is_aligned(at)); // the others' parts follow
        expect_free(w);
        MPI_Info_set(hints, "alloc_shared_noncontig", "true");
        EXPECT_EQ(MPI_Win_allocate_shared(100, 1, hints, MPI_COMM_WORLD, &at, &w), MPI_SUCCESS);
        EXPECT_TRUE(is_aligned(at));
        expect_free(w);
        MPI_Info_free(&hints);
    });
}

TEST(CWindows, AWindowOutlivesItsCommunicatorAndHasItsGroup) {
    ranks(3, [](int me, int) {
        MPI_Comm part = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, me == 0, -me, &part);
        auto const wanted = members(part);
        auto const m = allocated(part, 1);
        EXPECT_EQ(MPI_Comm_free(&part), MPI_SUCCESS);
        MPI_Group g = MPI_GROUP_NULL;
        EXPECT_EQ(MPI_Win_get_group(m.win, &g), MPI_SUCCESS);
        EXPECT_EQ(members(g), wanted);
        MPI_Group_free(&g);
        expect_free(m.win);
    });
}

TEST(CWindows, WhoSharesMemoryReadsItByLoads) {
    for (bool const apart : {false, true}) {
        ranks(3, [apart](int me, int size) {
            MPI_Info hints = MPI_INFO_NULL;
            MPI_Info_create(&hints);
            MPI_Info_set(hints, "alloc_shared_noncontig", apart ? "true" : "false");
            MPI_Win w = MPI_WIN_NULL;
            long* mine = nullptr;
            auto const part = [](int rank) { return rank == 1 ? 0 : 10 + rank; };
            EXPECT_EQ(
                MPI_Win_allocate_shared(part(me) * MPI_Aint{sizeof(long)}, sizeof(long), hints, MPI_COMM_WORLD, &mine, &w),
                MPI_SUCCESS);
            for (int i = 0; i < part(me); ++i) mine[i] = me * 1000 + i;
            MPI_Win_fence(0, w);
            long* begin = nullptr;
            for (int r = MPI_PROC_NULL; r < size; r = r < 0 ? 0 : r + 1) {
                auto const of = r < 0 ? 0 : r; // the first that has memory
                MPI_Aint bytes = -1, wide_unit = -1;
                int unit = -1;
                long *there = nullptr, *again = nullptr;
                EXPECT_EQ(MPI_Win_shared_query(w, r, &bytes, &unit, &there), MPI_SUCCESS);
                EXPECT_EQ(MPI_Win_shared_query_c(w, r, &bytes, &wide_unit, &again), MPI_SUCCESS);
                EXPECT_EQ(there, again);
                EXPECT_EQ(bytes, part(of) * MPI_Aint{sizeof(long)});
                EXPECT_EQ(unit, static_cast<int>(sizeof(long)));
                EXPECT_EQ(wide_unit, static_cast<MPI_Aint>(sizeof(long)));
                for (int i = 0; i < part(of); ++i) EXPECT_EQ(there[i], of * 1000 + i);
                if (r == 0) begin = there;
                if (r == 2 && !apart) {
                    EXPECT_EQ(there, begin + part(0)); // one piece
                }
            }
            MPI_Win_fence(0, w);
            MPI_Info_free(&hints);
            expect_free(w);
        });
    }
}

constexpr bool loads_reach_others = std::is_same_v<mpt::c::stack, mpt::stack<mpt::world::threads>>; // not over streams

TEST(CWindows, MemoryOfAWindowThatIsNotSharedIsReachedOrIsNot) {
    ranks(2, [](int me, int size) {
        auto const m = allocated(MPI_COMM_WORLD, 4);
        for (int i = 0; i < 4; ++i) m.base[i] = me * 10 + i;
        MPI_Win_fence(0, m.win);
        for (int r = 0; r < size; ++r) {
            MPI_Aint bytes = -1;
            int unit = -1;
            long* there = nullptr;
            EXPECT_EQ(MPI_Win_shared_query(m.win, r, &bytes, &unit, &there), MPI_SUCCESS);
            EXPECT_EQ(unit, static_cast<int>(sizeof(long)));
            if (r == me) { EXPECT_EQ(there, m.base); }
            if (r != me && !loads_reach_others) {
                EXPECT_EQ(bytes, 0);
                continue;
            }
            ASSERT_EQ(bytes, MPI_Aint{4 * sizeof(long)});
            EXPECT_EQ(there[3], r * 10 + 3);
        }
        MPI_Aint bytes_of_first = -1;
        int unit_of_first = -1;
        long* first = nullptr;
        EXPECT_EQ(MPI_Win_shared_query(m.win, MPI_PROC_NULL, &bytes_of_first, &unit_of_first, &first), MPI_SUCCESS);
        EXPECT_EQ(bytes_of_first, me == 0 || loads_reach_others ? MPI_Aint{4 * sizeof(long)} : 0);
        if (bytes_of_first != 0) { EXPECT_EQ(first[3], 3); }
        MPI_Win_fence(0, m.win);
        expect_free(m.win);
        auto const w = dynamic(MPI_COMM_WORLD);
        MPI_Aint bytes = 0;
        int unit = 0;
        void* at = nullptr;
        expect_failure(MPI_Win_shared_query(w, 0, &bytes, &unit, &at), MPI_ERR_RMA_FLAVOR, {"MPI_Win_shared_query"});
        expect_free(w);
    });
}

TEST(CWindows, OfNothingOnlyItsOwnerKnowsAnAddress) {
    ranks(2, [](int me, int size) {
        longs own(4);
        MPI_Win w = MPI_WIN_NULL;
        MPI_Win_create(own.data(), 0, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &w);
        for (int r = 0; r < size; ++r) {
            MPI_Aint bytes = -1;
            int unit = -1;
            void* there = &unit;
            EXPECT_EQ(MPI_Win_shared_query(w, r, &bytes, &unit, &there), MPI_SUCCESS);
            EXPECT_EQ(bytes, 0);
            EXPECT_EQ(unit, static_cast<int>(sizeof(long)));
            EXPECT_EQ(there, r == me ? own.data() : nullptr);
        }
        expect_free(w);
    });
}

TEST(CWindows, MemoryIsAttachedAndDetached) {
    ranks(2, [](int, int) {
        auto const w = dynamic(MPI_COMM_WORLD);
        longs a(10), b(20);
        EXPECT_EQ(MPI_Win_attach(w, a.data(), 10 * sizeof(long)), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_attach(w, b.data(), 20 * sizeof(long)), MPI_SUCCESS);
        expect_failure(MPI_Win_attach(w, a.data() + 2, 8), MPI_ERR_RMA_ATTACH, {"MPI_Win_attach"}); // there already
        EXPECT_EQ(MPI_Win_detach(w, a.data()), MPI_SUCCESS);
        expect_failure(MPI_Win_detach(w, a.data()), MPI_ERR_RMA_ATTACH, {"MPI_Win_detach"});
        EXPECT_EQ(MPI_Win_attach(w, a.data() + 2, 8), MPI_SUCCESS);
        expect_failure(MPI_Win_attach(w, nullptr, 8), MPI_ERR_BASE, {"base is a null pointer"});
        for (void* const at : {static_cast<void*>(nullptr), static_cast<void*>(b.data() + 1), static_cast<void*>(b.data())}) {
            EXPECT_EQ(MPI_Win_attach(w, at, 0), MPI_SUCCESS); // of nothing, wherever it begins
        }
        for (void* const at : {static_cast<void*>(nullptr), static_cast<void*>(b.data() + 1)}) {
            EXPECT_EQ(MPI_Win_detach(w, at), MPI_SUCCESS);
            expect_failure(MPI_Win_detach(w, at), MPI_ERR_RMA_ATTACH, {"MPI_Win_detach"});
        }
        EXPECT_EQ(MPI_Win_detach(w, b.data()), MPI_SUCCESS); // what has bytes goes first
        EXPECT_EQ(MPI_Win_attach(w, b.data() + 1, 8), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_detach(w, b.data()), MPI_SUCCESS);
        expect_failure(MPI_Win_detach(w, b.data()), MPI_ERR_RMA_ATTACH, {"MPI_Win_detach"});
        expect_free(w);
        auto const m = allocated(MPI_COMM_WORLD, 1);
        expect_failure(MPI_Win_attach(m.win, a.data(), 8), MPI_ERR_RMA_FLAVOR, {"MPI_Win_attach"});
        expect_failure(MPI_Win_detach(m.win, a.data()), MPI_ERR_RMA_FLAVOR, {"MPI_Win_detach"});
        expect_free(m.win);
    });
}

TEST(CWindows, WhatIsWrongAtTheBeginningIsTheCommunicatorsError) {
    ranks(2, [](int me, int) {
        long x = 0, *at = nullptr;
        MPI_Win w = MPI_WIN_NULL;
        MPI_Comm side = MPI_COMM_NULL, both = MPI_COMM_NULL;
        auto const create = [&](void* base, MPI_Aint size, int unit, MPI_Comm c) {
            return MPI_Win_create(base, size, unit, MPI_INFO_NULL, c, &w);
        };
        expect_failure(create(&x, -1, 1, MPI_COMM_WORLD), MPI_ERR_SIZE, {"MPI_Win_create", "size is -1"});
        expect_failure(create(&x, 8, 0, MPI_COMM_WORLD), MPI_ERR_DISP, {"disp_unit is 0"});
        expect_failure(create(nullptr, 8, 1, MPI_COMM_WORLD), MPI_ERR_BASE, {"base is a null pointer", "8 bytes"});
        expect_failure(create(&x, 8, 1, MPI_COMM_NULL), MPI_ERR_COMM, {"comm is MPI_COMM_NULL"});
        expect_failure(MPI_Win_allocate(-3, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &w), MPI_ERR_SIZE, {"size is -3"});
        expect_failure(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, nullptr, &w), MPI_ERR_ARG, {"baseptr"});
        expect_failure(MPI_Win_allocate_shared(8, -1, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &w), MPI_ERR_DISP,
                       {"disp_unit is -1"});
        expect_failure(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, nullptr), MPI_ERR_ARG, {"win is a null pointer"});
        MPI_Comm_split(MPI_COMM_WORLD, me, 0, &side);
        MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 1 - me, 0, &both);
        MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
        expect_failure(create(&x, 8, 1, both), MPI_ERR_COMM, {"comm is an intercommunicator"});
        expect_failure(MPI_Win_allocate(8, 1, MPI_INFO_NULL, both, &at, &w), MPI_ERR_COMM, {"comm is an intercommunicator"});
        expect_failure(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, both, &at, &w), MPI_ERR_COMM, {"an intercommunicator"});
        expect_failure(MPI_Win_create_dynamic(MPI_INFO_NULL, both, &w), MPI_ERR_COMM, {"comm is an intercommunicator"});
        MPI_Comm_free(&both);
        MPI_Comm_free(&side);
    });
}

TEST(CWindows, AFreedWindowIsNone) {
    ranks(2, [](int, int) {
        auto const m = allocated(MPI_COMM_WORLD, 1);
        auto gone = m.win;
        expect_free(m.win);
        expect_failure(MPI_Win_fence(0, gone), MPI_ERR_WIN,
                       {"MPI_Win_fence", "win is 0x", "which is no window, or one that was freed"});
        expect_failure(MPI_Win_free(&gone), MPI_ERR_WIN, {"MPI_Win_free", "freed"});
        gone = MPI_WIN_NULL;
        expect_failure(MPI_Win_free(&gone), MPI_ERR_WIN, {"win is MPI_WIN_NULL; a living window is needed"});
        expect_failure(MPI_Win_free(nullptr), MPI_ERR_ARG, {"win is a null pointer"});
    });
}

TEST(CWindows, AWindowThatWasForgottenKeepsNobodyFromLeaving) {
    longs memory(8);
    ranks(2, [&](int me, int) {
        MPI_Win w = MPI_WIN_NULL;
        MPI_Win_create(memory.data() + 4 * me, 4 * sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
        allocated(MPI_COMM_WORLD, 3);
        dynamic(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    });
}

TEST(CWindows, AHandleHasAnInteger) {
    ranks(1, [](int, int) {
        auto const a = dynamic(MPI_COMM_SELF), b = dynamic(MPI_COMM_SELF);
        EXPECT_NE(MPI_Win_toint(a), MPI_Win_toint(b));
        EXPECT_EQ(MPI_Win_fromint(MPI_Win_toint(a)), a);
        EXPECT_EQ(MPI_Win_fromint(MPI_Win_toint(b)), b);
        expect_free(a);
        EXPECT_NE(MPI_Win_fromint(MPI_Win_toint(a)), a);
        expect_free(b);
    });
}

// --- names and hints ------------------------------------------------------------------------------------------------------------

std::string name_of(MPI_Win w) {
    char text[MPI_MAX_OBJECT_NAME];
    int length = -1;
    EXPECT_EQ(MPI_Win_get_name(w, text, &length), MPI_SUCCESS);
    EXPECT_EQ(std::string{text}.size(), static_cast<std::size_t>(length));
    return text;
}

TEST(CWindows, ANameIsKeptAndToldInErrors) {
    ranks(2, [](int, int) {
        auto const w = dynamic(MPI_COMM_WORLD);
        EXPECT_EQ(name_of(w), "");
        EXPECT_EQ(name_of(MPI_WIN_NULL), "MPI_WIN_NULL");
        EXPECT_EQ(MPI_Win_set_name(w, "halo"), MPI_SUCCESS);
        EXPECT_EQ(name_of(w), "halo");
        expect_failure(MPI_Win_flush(2, w), MPI_ERR_RANK, {"MPI_Win_flush", "rank is 2", "0 to 1", "of 2 in halo"});
        EXPECT_EQ(MPI_Win_set_name(w, std::string(200, 'x').c_str()), MPI_SUCCESS);
        EXPECT_EQ(name_of(w), std::string(MPI_MAX_OBJECT_NAME - 1, 'x'));
        expect_failure(MPI_Win_set_name(w, nullptr), MPI_ERR_ARG, {"win_name is a null pointer"});
        expect_free(w);
    });
}

using texts = std::map<std::string, std::string>;

texts hints_of(MPI_Win w) {
    MPI_Info used = MPI_INFO_NULL;
    int n = -1;
    EXPECT_EQ(MPI_Win_get_info(w, &used), MPI_SUCCESS);
    MPI_Info_get_nkeys(used, &n);
    texts all;
    for (int i = 0; i < n; ++i) {
        char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL];
        int room = sizeof value, flag = 0;
        MPI_Info_get_nthkey(used, i, key);
        MPI_Info_get_string(used, key, &room, value, &flag);
        all[key] = value;
    }
    MPI_Info_free(&used);
    return all;
}
MPI_Info info_of(texts const& wanted) {
    MPI_Info made = MPI_INFO_NULL;
    MPI_Info_create(&made);
    for (auto const& [key, value] : wanted) MPI_Info_set(made, key.c_str(), value.c_str());
    return made;
}

/// A window of 3 MiB by each rank, put into by the other; what it says of its pages.
texts with_pages(char const* size) {
    texts told;
    ranks(2, [&](int me, int) {
        auto hints = info_of({{"mpt_mem_pg_sz", size}});
        int* base = nullptr;
        MPI_Win w = MPI_WIN_NULL;
        constexpr int count = (3 << 20) / sizeof(int);
        ASSERT_EQ(MPI_Win_allocate(count * sizeof(int), sizeof(int), hints, MPI_COMM_WORLD, &base, &w), MPI_SUCCESS);
        MPI_Info_free(&hints);
        std::vector<int> const mine(count, 7 + me);
        MPI_Win_fence(0, w);
        MPI_Put(mine.data(), count, MPI_INT, 1 - me, 0, count, MPI_INT, w);
        MPI_Win_fence(0, w);
        EXPECT_EQ(base[0], 8 - me);
        EXPECT_EQ(base[count - 1], 8 - me);
        if (me == 0) told = hints_of(w);
        expect_free(w);
    });
    return told;
}

TEST(CWindows, PagesOfAWindowAreThoseOfTheSystemsPoolWhileItHasSome) {
    EXPECT_FALSE(with_pages("4K").contains("mpt_mem_pages")) << "nothing was asked for";
    {
        mpt::test::huge_pages const pool{4};
        if (!pool.why_not().empty()) GTEST_SKIP() << pool.why_not();
        auto const told = with_pages("2M");
        EXPECT_EQ(told.at("mpt_mem_pages"), "hugetlb");
        EXPECT_EQ(told.at("mpt_mem_pg_sz"), "2M");
        EXPECT_EQ(told.at("mpt_mem_affinity"), "SYS_DEFAULT");
        EXPECT_EQ(pool.free(), 4u);
    }
    mpt::test::huge_pages const scarce{1};
    auto const told = with_pages("2M").at("mpt_mem_pages");
    EXPECT_TRUE(told == "base" || told == "transparent") << told;
}

TEST(CWindows, HintsThatMakeSenseAreKept) {
    ranks(2, [](int, int) {
        texts known{{"no_locks", "false"},
                    {"accumulate_ordering", "rar,raw,war,waw"},
                    {"accumulate_ops", "same_op_no_op"},
                    {"same_size", "false"},
                    {"same_disp_unit", "false"},
                    {"mpi_accumulate_granularity", "0"},
                    {"mpi_minimum_memory_alignment", "1"},
                    {"alloc_shared_noncontig", "false"},
                    {"mpi_memory_alloc_kinds", "mpi,system"}};
        auto const plain = allocated(MPI_COMM_WORLD, 1);
        EXPECT_EQ(hints_of(plain.win), known);
        expect_free(plain.win);

        auto hints = info_of({{"no_locks", " true "},
                              {"accumulate_ordering", "none"},
                              {"accumulate_ops", "same_op"},
                              {"same_size", "perhaps"},
                              {"same_disp_unit", "true"},
                              {"mpi_accumulate_granularity", "-4"},
                              {"mpi_minimum_memory_alignment", "4096"},
                              {"mpi_assert_memory_alloc_kinds", "mpi,system"},
                              {"colour", "green"}});
        auto const m = allocated(MPI_COMM_WORLD, 1, hints);
        MPI_Info_free(&hints);
        known["no_locks"] = known["same_disp_unit"] = "true"; // what is no value of a hint, or no hint, is ignored
        known["accumulate_ordering"] = "none";
        known["accumulate_ops"] = "same_op";
        known["mpi_minimum_memory_alignment"] = "4096";
        known["mpi_assert_memory_alloc_kinds"] = "mpi,system";
        EXPECT_EQ(hints_of(m.win), known);

        hints = info_of({{"accumulate_ordering", "raw, waw"},
                         {"accumulate_ops", "any"},
                         {"mpi_accumulate_granularity", "64"}, // as this, settled when it was made
                         {"mpi_minimum_memory_alignment", "64"},
                         {"no_locks", "false"},
                         {"mpi_assert_memory_alloc_kinds", "mpi,rocm"},
                         {"alloc_shared_noncontig", "true"}});
        EXPECT_EQ(MPI_Win_set_info(m.win, hints), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_set_info(m.win, MPI_INFO_NULL), MPI_SUCCESS);
        MPI_Info_free(&hints);
        known["accumulate_ordering"] = "raw, waw";
        known["no_locks"] = "false";
        EXPECT_EQ(hints_of(m.win), known); // where the memory lies was settled when it was made
        expect_free(m.win);
    });
}

// --- attributes -----------------------------------------------------------------------------------------------------------------

struct seen_attributes {
    std::vector<std::pair<MPI_Win, long>> deleted;
    int answer = MPI_SUCCESS;
    static int remove(MPI_Win w, int, void* value, void* extra) {
        auto& all = *static_cast<seen_attributes*>(extra);
        if (all.answer == MPI_SUCCESS) all.deleted.emplace_back(w, *static_cast<long*>(value));
        return all.answer;
    }
    int key() {
        int k = MPI_KEYVAL_INVALID;
        EXPECT_EQ(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, remove, &k, this), MPI_SUCCESS);
        return k;
    }
};

long value_of(MPI_Win w, int key) {
    long* value = nullptr;
    int flag = -1;
    EXPECT_EQ(MPI_Win_get_attr(w, key, &value, &flag), MPI_SUCCESS);
    return flag ? *value : 0;
}

TEST(CWindows, AttributesAreKeptAndGoWithTheWindow) {
    ranks(2, [](int, int) {
        seen_attributes seen;
        long one = 1, two = 2, three = 3;
        int a = seen.key(), b = seen.key(), plain = 0;
        EXPECT_EQ(MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, &plain, nullptr), MPI_SUCCESS);
        auto const m = allocated(MPI_COMM_WORLD, 1);
        EXPECT_EQ(value_of(m.win, a), 0);
        EXPECT_EQ(MPI_Win_set_attr(m.win, a, &one), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_set_attr(m.win, b, &two), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_set_attr(m.win, plain, &three), MPI_SUCCESS);
        EXPECT_EQ(value_of(m.win, a), 1);
        EXPECT_EQ(value_of(m.win, plain), 3);
        EXPECT_EQ(MPI_Win_set_attr(m.win, a, &three), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_delete_attr(m.win, b), MPI_SUCCESS);
        EXPECT_EQ(value_of(m.win, b), 0);
        EXPECT_EQ(seen.deleted, (std::vector<std::pair<MPI_Win, long>>{{m.win, 1}, {m.win, 2}}));
        EXPECT_EQ(MPI_Win_set_attr(m.win, b, &two), MPI_SUCCESS);
        seen.deleted.clear();
        seen.answer = MPI_ERR_NAME; // a callback that refuses keeps the window
        auto w = m.win;
        expect_failure(MPI_Win_free(&w), MPI_ERR_NAME, {"MPI_Win_free", "delete callback"});
        EXPECT_EQ(value_of(w, a), 3);
        seen.answer = MPI_SUCCESS;
        EXPECT_EQ(MPI_Win_lock_all(0, w), MPI_SUCCESS); // so does an epoch, which no callback hears of
        expect_failure(MPI_Win_free(&w), MPI_ERR_RMA_SYNC, {"MPI_Win_free"});
        EXPECT_EQ(value_of(w, a), 3);
        EXPECT_EQ(MPI_Win_unlock_all(w), MPI_SUCCESS);
        auto gone = a;
        EXPECT_EQ(MPI_Win_free_keyval(&gone), MPI_SUCCESS);
        EXPECT_EQ(gone, MPI_KEYVAL_INVALID);
        expect_free(w);
        EXPECT_EQ(seen.deleted, (std::vector<std::pair<MPI_Win, long>>{{m.win, 2}, {m.win, 3}}));
        for (auto* k : {&b, &plain}) MPI_Win_free_keyval(k);
    });
}

TEST(CWindows, TheirOwnAttributesCannotBeChanged) {
    ranks(1, [](int, int) {
        auto const w = dynamic(MPI_COMM_SELF);
        for (int key : {MPI_WIN_BASE, MPI_WIN_SIZE, MPI_WIN_DISP_UNIT, MPI_WIN_CREATE_FLAVOR, MPI_WIN_MODEL}) {
            auto copy = key;
            expect_failure(MPI_Win_set_attr(w, key, nullptr), MPI_ERR_KEYVAL,
                           {"MPI_Win_set_attr", std::to_string(key).c_str()});
            expect_failure(MPI_Win_delete_attr(w, key), MPI_ERR_KEYVAL, {"predefined"});
            EXPECT_EQ(MPI_Win_free_keyval(&copy), MPI_ERR_KEYVAL);
        }
        int flag = 0;
        void* value = nullptr;
        expect_failure(MPI_Win_get_attr(w, MPI_KEYVAL_INVALID, &value, &flag), MPI_ERR_KEYVAL, {"MPI_Win_get_attr"});
        expect_failure(MPI_Win_get_attr(w, MPI_WIN_SIZE, nullptr, &flag), MPI_ERR_ARG, {"attribute_val"});
        expect_free(w);
    });
}

// --- error handlers -------------------------------------------------------------------------------------------------------------

thread_local std::vector<std::pair<MPI_Win, int>> errors;
void note(MPI_Win* w, int* code, ...) { errors.emplace_back(*w, *code); }
void note_comm(MPI_Comm*, int*, ...) { errors.emplace_back(MPI_WIN_NULL, -1); }

TEST(CWindows, ErrorsAreRaisedOnTheWindow) {
    ranks(2, [](int, int) {
        errors.clear();
        MPI_Win w = MPI_WIN_NULL;
        MPI_Errhandler first = MPI_ERRHANDLER_NULL, ours = first, now = first, of_comms = first;
        EXPECT_EQ(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_get_errhandler(w, &first), MPI_SUCCESS);
        EXPECT_EQ(first, MPI_ERRORS_ARE_FATAL);
        EXPECT_EQ(MPI_Win_create_errhandler(note, &ours), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_set_errhandler(w, ours), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_get_errhandler(w, &now), MPI_SUCCESS);
        EXPECT_EQ(now, ours);
        MPI_Errhandler_free(&now);
        MPI_Errhandler_free(&ours); // the window keeps it
        MPI_Group none = MPI_GROUP_NULL;
        EXPECT_EQ(MPI_Win_flush(7, w), MPI_ERR_RANK);
        EXPECT_EQ(MPI_Win_post(none, 0, w), MPI_ERR_GROUP);
        EXPECT_EQ(MPI_Win_lock(17, 0, 0, w), MPI_ERR_LOCKTYPE);
        EXPECT_EQ(MPI_Win_fence(1, w), MPI_ERR_ASSERT);
        EXPECT_EQ(MPI_Win_get_group(w, nullptr), MPI_ERR_ARG);
        EXPECT_EQ(MPI_Win_call_errhandler(w, MPI_ERR_RMA_SYNC), MPI_SUCCESS);
        EXPECT_EQ(errors, (std::vector<std::pair<MPI_Win, int>>{{w, MPI_ERR_RANK},
                                                                {w, MPI_ERR_GROUP},
                                                                {w, MPI_ERR_LOCKTYPE},
                                                                {w, MPI_ERR_ASSERT},
                                                                {w, MPI_ERR_ARG},
                                                                {w, MPI_ERR_RMA_SYNC}}));
        EXPECT_EQ(MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN), MPI_SUCCESS);
        expect_failure(MPI_Win_fence(1, w), MPI_ERR_ASSERT, {"MPI_Win_fence", "assert is 1", "MPI_MODE_NOPUT"});
        EXPECT_EQ(errors.size(), 6u);
        MPI_Comm_create_errhandler(note_comm, &of_comms);
        expect_failure(MPI_Win_set_errhandler(w, of_comms), MPI_ERR_ERRHANDLER, {"needed is one for windows"});
        expect_failure(MPI_Win_set_errhandler(w, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER, {"MPI_ERRHANDLER_NULL"});
        MPI_Errhandler_free(&of_comms);
        expect_free(w);
    });
}

} // namespace
