// What a C program learns of its surroundings: versions, machine, clock, threads, memory; and when it may ask.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "ranks.hpp"

namespace {

using namespace std::chrono_literals;
using mpt::c::test::expect_failure;
using mpt::c::test::ranks;
using mpt::c::test::thread_of_rank;

/// A rank that enters and leaves as it likes.
template <class F> void rank_of_its_own(F fn) {
    auto const members = mpt::boot::local_members(1);
    mpt::c::binding mine;
    mine.membership = members.front();
    std::thread{[&] {
        mpt::c::take_up(mine);
        fn();
    }}.join();
}

bool told(int (*ask)(int*)) {
    int flag = -1;
    EXPECT_EQ(ask(&flag), MPI_SUCCESS);
    return flag == 1;
}
int told_level() {
    int level = -1;
    EXPECT_EQ(MPI_Query_thread(&level), MPI_SUCCESS);
    return level;
}
void expect_versions() {
    int a = -1, b = -1;
    EXPECT_EQ(MPI_Get_version(&a, &b), MPI_SUCCESS);
    EXPECT_EQ(a, 5);
    EXPECT_EQ(b, 0);
    EXPECT_EQ(MPI_Abi_get_version(&a, &b), MPI_SUCCESS);
    EXPECT_EQ(a, 1);
    EXPECT_EQ(b, 0);
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    EXPECT_EQ(MPI_Get_library_version(text, &a), MPI_SUCCESS);
    EXPECT_EQ(text, "mpt " + to_string(mpt::header_version) + " (MPI 5.0, standard ABI 1.0)");
    EXPECT_EQ(std::strlen(text), static_cast<std::size_t>(a));
    EXPECT_EQ(MPI_Pcontrol(0), MPI_SUCCESS);
    EXPECT_EQ(MPI_Pcontrol(2, "what a tool understands", 3.5), MPI_SUCCESS);
}

TEST(CEnvironment, ItIsKnownWhetherItWasEnteredAndLeft) {
    rank_of_its_own([] {
        EXPECT_FALSE(told(MPI_Initialized));
        EXPECT_FALSE(told(MPI_Finalized));
        expect_versions();
        EXPECT_EQ(MPI_Init(nullptr, nullptr), MPI_SUCCESS);
        EXPECT_TRUE(told(MPI_Initialized));
        EXPECT_FALSE(told(MPI_Finalized));
        expect_versions();
        EXPECT_EQ(told_level(), MPI_THREAD_SINGLE);
        EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS);
        EXPECT_TRUE(told(MPI_Initialized));
        EXPECT_TRUE(told(MPI_Finalized));
        expect_versions();
    });
}

TEST(CEnvironment, EveryThreadLevelIsGivenAndToldAgain) {
    for (int level : {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE})
        rank_of_its_own([level] {
            int provided = -1;
            EXPECT_EQ(MPI_Init_thread(nullptr, nullptr, level, &provided), MPI_SUCCESS);
            EXPECT_EQ(provided, level);
            EXPECT_EQ(told_level(), level);
            MPI_Finalize();
        });
}

/// Whoever enters while it lives has the variable.
struct variable {
    variable(char const* n, char const* value) : name{n} { ::setenv(n, value, 1); }
    variable(variable const&) = delete;
    variable& operator=(variable const&) = delete;
    ~variable() { ::unsetenv(name); }
    char const* name;
};
std::string level_of_session(char const* wanted) {
    MPI_Info hints = MPI_INFO_NULL;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "thread_level", wanted);
    MPI_Session session = MPI_SESSION_NULL;
    EXPECT_EQ(MPI_Session_init(hints, MPI_ERRORS_RETURN, &session), MPI_SUCCESS);
    MPI_Info used = MPI_INFO_NULL;
    EXPECT_EQ(MPI_Session_get_info(session, &used), MPI_SUCCESS);
    char value[64] = "";
    int length = sizeof value, known = 0;
    MPI_Info_get_string(used, "thread_level", &length, value, &known);
    for (auto* const gone : {&hints, &used}) MPI_Info_free(gone);
    MPI_Session_finalize(&session);
    return value;
}

TEST(CEnvironment, NoHigherLevelIsGivenThanAVariableAllows) {
    for (auto const* name : {"MPT_THREAD_LEVEL", "MPICH_MAX_THREAD_SAFETY"}) {
        variable const most{name, "funneled"};
        for (int level : {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE})
            rank_of_its_own([level] {
                int provided = -1;
                EXPECT_EQ(MPI_Init_thread(nullptr, nullptr, level, &provided), MPI_SUCCESS);
                EXPECT_EQ(provided, std::min<int>(level, MPI_THREAD_FUNNELED));
                EXPECT_EQ(told_level(), provided);
                EXPECT_EQ(level_of_session("MPI_THREAD_MULTIPLE"), "MPI_THREAD_FUNNELED");
                EXPECT_EQ(level_of_session("MPI_THREAD_SINGLE"), "MPI_THREAD_SINGLE");
                MPI_Finalize();
            });
    }
}

TEST(CEnvironment, AThreadKnowsWhetherItIsTheMainOne) {
    ranks(2, [](int, int) {
        EXPECT_TRUE(told(MPI_Is_thread_main));
        thread_of_rank([] {
            EXPECT_FALSE(told(MPI_Is_thread_main));
            EXPECT_EQ(told_level(), MPI_THREAD_MULTIPLE);
            EXPECT_TRUE(told(MPI_Initialized));
        }).join();
        EXPECT_TRUE(told(MPI_Is_thread_main));
    });
}

TEST(CEnvironment, TheProcessorIsNamedAsTheMachineIs) {
    ranks(1, [](int, int) {
        char name[MPI_MAX_PROCESSOR_NAME + 1], host[MPI_MAX_PROCESSOR_NAME] = {};
        std::memset(name, '?', sizeof name);
        int length = -1;
        EXPECT_EQ(MPI_Get_processor_name(name, &length), MPI_SUCCESS);
        ::gethostname(host, sizeof host);
        EXPECT_STREQ(name, host);
        EXPECT_EQ(length, static_cast<int>(std::strlen(host)));
        EXPECT_EQ(name[MPI_MAX_PROCESSOR_NAME], '?');
        expect_failure(MPI_Get_processor_name(nullptr, &length), MPI_ERR_ARG, {"name is a null pointer"});
    });
}

TEST(CEnvironment, TheClockGoesAsTheSystemsDoes) {
    ranks(1, [](int, int) {
        using clock = std::chrono::steady_clock;
        auto const tick = MPI_Wtick();
        EXPECT_GT(tick, 0);
        EXPECT_LE(tick, 1e-3);
        auto before = MPI_Wtime();
        for (int i = 0; i < 1000; ++i) {
            auto const now = MPI_Wtime();
            EXPECT_GE(now, before);
            before = now;
        }
        auto const outer = clock::now(); // outer <= first <= inner ... inner <= last <= outer
        auto const first = MPI_Wtime();
        auto const inner = clock::now();
        while (clock::now() - inner < 20ms) {}
        auto const innermost = clock::now() - inner;
        auto const took = MPI_Wtime() - first;
        auto const outermost = clock::now() - outer;
        auto const slack = tick + 1e-6;
        EXPECT_GE(took, std::chrono::duration<double>{innermost}.count() - slack);
        EXPECT_LE(took, std::chrono::duration<double>{outermost}.count() + slack);
    });
}

TEST(CEnvironment, AllocatedMemoryIsOnesOwnUntilItIsFreed) {
    ranks(2, [](int me, int) {
        MPI_Info info = MPI_INFO_NULL;
        MPI_Info_create(&info);
        for (int round = 0; round < 3; ++round) {
            std::vector<std::pair<unsigned char*, std::size_t>> all;
            for (MPI_Aint n : {1, 100, 4096, 1000000, 7}) {
                unsigned char* p = nullptr;
                EXPECT_EQ(MPI_Alloc_mem(n, n % 2 ? info : MPI_INFO_NULL, &p), MPI_SUCCESS);
                ASSERT_NE(p, nullptr);
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % alignof(double), 0U);
                std::memset(p, static_cast<int>(all.size()) + 10 * me, static_cast<std::size_t>(n));
                all.emplace_back(p, static_cast<std::size_t>(n));
            }
            std::vector<unsigned char> in(1000000);
            EXPECT_EQ(MPI_Sendrecv(all[3].first, 1000000, MPI_BYTE, 1 - me, 1, in.data(), 1000000, MPI_BYTE, 1 - me, 1,
                                   MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                      MPI_SUCCESS);
            EXPECT_EQ(std::ranges::count(in, static_cast<unsigned char>(3 + 10 * (1 - me))), 1000000);
            for (std::size_t i = 0; i < all.size(); ++i) {
                EXPECT_EQ(std::count(all[i].first, all[i].first + all[i].second, i + 10 * static_cast<std::size_t>(me)),
                          static_cast<std::ptrdiff_t>(all[i].second));
                EXPECT_EQ(MPI_Free_mem(all[i].first), MPI_SUCCESS);
            }
        }
        MPI_Info_free(&info);
    });
}

TEST(CEnvironment, AllocatedMemoryIsAlignedAsAHintAsks) {
    ranks(1, [](int, int) {
        MPI_Info hints = MPI_INFO_NULL;
        MPI_Info_create(&hints);
        for (auto const* value : {"16", "256", "4096", "1048576", " 64 ", "3", "-8", "much", "0"}) {
            MPI_Info_set(hints, "mpi_minimum_memory_alignment", value);
            for (MPI_Aint const size : {1, 100, 70'000}) {
                void* p = nullptr;
                EXPECT_EQ(MPI_Alloc_mem(size, hints, &p), MPI_SUCCESS);
                auto const n = std::max(std::atoll(value), 1ll);
                if (std::has_single_bit(static_cast<unsigned long long>(n))) {
                    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % static_cast<std::uintptr_t>(n), 0u) << value;
                }
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % alignof(std::max_align_t), 0u);
                std::memset(p, 1, static_cast<std::size_t>(size));
                EXPECT_EQ(MPI_Free_mem(p), MPI_SUCCESS);
            }
        }
        MPI_Info_free(&hints);
    });
}

TEST(CEnvironment, MemoryThatIsNotOnesOwnIsNotFreed) {
    ranks(1, [](int, int) {
        int x = 0;
        char* p = &reinterpret_cast<char&>(x);
        EXPECT_EQ(MPI_Alloc_mem(0, MPI_INFO_NULL, &p), MPI_SUCCESS);
        EXPECT_EQ(MPI_Free_mem(p), MPI_SUCCESS);
        EXPECT_EQ(MPI_Alloc_mem(64, MPI_INFO_NULL, &p), MPI_SUCCESS);
        expect_failure(MPI_Free_mem(p + 1), MPI_ERR_BASE, {"MPI_Free_mem", "not what MPI_Alloc_mem gave"});
        EXPECT_EQ(MPI_Free_mem(p), MPI_SUCCESS);
        expect_failure(MPI_Free_mem(p), MPI_ERR_BASE, {"was freed"});
        expect_failure(MPI_Free_mem(&x), MPI_ERR_BASE, {"not what MPI_Alloc_mem gave"});
        expect_failure(MPI_Alloc_mem(-1, MPI_INFO_NULL, &p), MPI_ERR_SIZE, {"MPI_Alloc_mem", "size is -1"});
        expect_failure(MPI_Alloc_mem(8, MPI_INFO_NULL, nullptr), MPI_ERR_ARG, {"baseptr is a null pointer"});
        expect_failure(MPI_Alloc_mem(MPI_Aint{1} << 60, MPI_INFO_NULL, &p), MPI_ERR_NO_MEM, {"MPI_Alloc_mem"});
    });
}

TEST(CEnvironment, AddressesAreAddedAndSubtracted) {
    ranks(1, [](int, int) {
        std::vector<int> data(1000);
        MPI_Aint first = 0, last = 0;
        MPI_Get_address(data.data(), &first);
        MPI_Get_address(&data.back(), &last);
        EXPECT_EQ(MPI_Aint_diff(last, first), 999 * static_cast<MPI_Aint>(sizeof(int)));
        EXPECT_EQ(MPI_Aint_diff(first, last), -999 * static_cast<MPI_Aint>(sizeof(int)));
        EXPECT_EQ(MPI_Aint_add(first, MPI_Aint_diff(last, first)), last);
        EXPECT_EQ(MPI_Aint_add(last, MPI_Aint_diff(first, last)), first);
        EXPECT_EQ(reinterpret_cast<int*>(MPI_Aint_add(first, 40)), &data[10]);
        constexpr auto top = std::numeric_limits<MPI_Aint>::max(); // addresses go round
        EXPECT_EQ(MPI_Aint_add(top, 1), std::numeric_limits<MPI_Aint>::min());
        EXPECT_EQ(MPI_Aint_diff(std::numeric_limits<MPI_Aint>::min(), top), 1);
    });
}

TEST(CEnvironment, AnyThreadMayAskWhetherMpiIsUpWhileAnotherEntersIt) {
    rank_of_its_own([] {
        auto other = thread_of_rank([] {
            while (!told(MPI_Initialized)) std::this_thread::yield();
            EXPECT_FALSE(told(MPI_Finalized));
            EXPECT_EQ(told_level(), MPI_THREAD_MULTIPLE);
        });
        int provided = 0;
        EXPECT_EQ(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
        other.join();
        EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS);
    });
}

TEST(CEnvironment, ThreadsMayUseOneObjectAtOnce) {
    ranks(1, [](int, int) {
        constexpr int threads = 4, rounds = 200;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_vector(3, 1, 2, MPI_INT, &type);
        std::atomic<int> attached{0}, detached{0};
        auto const detach = [&] {
            void* memory = nullptr;
            int size = 0;
            if (MPI_Buffer_detach(&memory, &size) == MPI_SUCCESS) ++detached;
        };
        std::array<std::array<std::byte, MPI_BSEND_OVERHEAD + 64>, threads> rooms{};
        auto const work = [&](auto& room) {
            MPI_Errhandler files = MPI_ERRHANDLER_NULL;
            for (int i = 0; i < rounds; ++i) {
                auto same = type;
                EXPECT_EQ(MPI_Type_commit(&same), MPI_SUCCESS);
                EXPECT_EQ(MPI_File_set_errhandler(MPI_FILE_NULL, i % 2 ? MPI_ERRORS_RETURN : MPI_ERRORS_ABORT), MPI_SUCCESS);
                EXPECT_EQ(MPI_File_get_errhandler(MPI_FILE_NULL, &files), MPI_SUCCESS);
                EXPECT_TRUE(files == MPI_ERRORS_RETURN || files == MPI_ERRORS_ABORT);
                if (MPI_Buffer_attach(room.data(), static_cast<int>(room.size())) == MPI_SUCCESS) ++attached;
                detach();
            }
        };
        std::vector<std::thread> all;
        for (auto& room : rooms) all.push_back(thread_of_rank([&] { work(room); }));
        for (auto& t : all) t.join();
        detach();
        EXPECT_EQ(attached, detached);
        MPI_Type_free(&type);
    });
}

/// What comes back from MPI_Buffer_detach is the program's: no message lies in it any more, nor is one put there.
TEST(CEnvironment, ABufferIsDetachedWhileAnotherThreadSendsByIt) {
    ranks(1, [](int, int) {
        constexpr int length = 20'000; // stays until it is received
        std::vector<std::byte> room(4 * (length * sizeof(int) + MPI_BSEND_OVERHEAD));
        for (int round = 0; round < 30; ++round) {
            std::atomic<int> sent{0};
            std::atomic<bool> over{false};
            EXPECT_EQ(MPI_Buffer_attach(room.data(), static_cast<int>(room.size())), MPI_SUCCESS);
            auto sender = thread_of_rank([&] {
                std::vector<int> const data(length, round);
                for (int i = 0; i < 4; ++i)
                    if (MPI_Bsend(data.data(), length, MPI_INT, 0, 5, MPI_COMM_SELF) == MPI_SUCCESS) ++sent;
                over = true;
            });
            auto receiver = thread_of_rank([&] {
                for (int received = 0; !over || received < sent;) {
                    int there = 0;
                    MPI_Iprobe(0, 5, MPI_COMM_SELF, &there, MPI_STATUS_IGNORE);
                    if (!there) continue;
                    std::vector<int> data(length, -1);
                    EXPECT_EQ(MPI_Recv(data.data(), length, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_SUCCESS);
                    EXPECT_EQ(data, std::vector<int>(length, round));
                    ++received;
                }
            });
            void* memory = nullptr;
            int size = 0;
            while (sent == 0) std::this_thread::yield();
            EXPECT_EQ(MPI_Buffer_detach(&memory, &size), MPI_SUCCESS);
            std::memset(memory, 0xee, static_cast<std::size_t>(size));
            sender.join(), receiver.join();
        }
    });
}

} // namespace
