// Section 15.3 of the C interface: variables, categories and events for tools.
#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <map>
#include <set>

#include "shared.hpp"
#include "tools.hpp"

namespace {

using namespace mpt::c::test;
using mpt::figure;
using mpt::figure_table;

/// Between MPI_T_init_thread and MPI_T_finalize.
struct tool {
    tool() {
        int provided = -1;
        EXPECT_EQ(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
        EXPECT_EQ(provided, MPI_THREAD_MULTIPLE);
    }
    ~tool() { EXPECT_EQ(MPI_T_finalize(), MPI_SUCCESS); }
    tool(tool const&) = delete;
};

int cvar_place(char const* name) {
    int at = -1;
    EXPECT_EQ(MPI_T_cvar_get_index(name, &at), MPI_SUCCESS) << name;
    return at;
}

/// A control variable of a sort that is a T.
template <class T> struct cvar {
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    explicit cvar(char const* name) {
        int count = 0;
        EXPECT_EQ(MPI_T_cvar_handle_alloc(cvar_place(name), nullptr, &handle, &count), MPI_SUCCESS);
        EXPECT_EQ(count, 1);
    }
    ~cvar() {
        EXPECT_EQ(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
        EXPECT_EQ(handle, MPI_T_CVAR_HANDLE_NULL);
    }
    cvar(cvar const&) = delete;
    T get() const {
        T value{};
        EXPECT_EQ(MPI_T_cvar_read(handle, &value), MPI_SUCCESS);
        return value;
    }
    int set(T value) const { return MPI_T_cvar_write(handle, &value); }
};
using size_cvar = cvar<unsigned long long>;

struct session {
    MPI_T_pvar_session handle = MPI_T_PVAR_SESSION_NULL;
    session() { EXPECT_EQ(MPI_T_pvar_session_create(&handle), MPI_SUCCESS); }
    ~session() {
        EXPECT_EQ(MPI_T_pvar_session_free(&handle), MPI_SUCCESS);
        EXPECT_EQ(handle, MPI_T_PVAR_SESSION_NULL);
    }
    session(session const&) = delete;

    MPI_T_pvar_handle of(figure f, MPI_Comm comm = MPI_COMM_NULL) const {
        MPI_T_pvar_handle h = MPI_T_PVAR_HANDLE_NULL;
        int count = 0;
        EXPECT_EQ(MPI_T_pvar_handle_alloc(handle, static_cast<int>(f), &comm, &h, &count), MPI_SUCCESS);
        EXPECT_EQ(count, 1);
        return h;
    }
    template <class T = unsigned long long> T read(MPI_T_pvar_handle h) const {
        T value{};
        EXPECT_EQ(MPI_T_pvar_read(handle, h, &value), MPI_SUCCESS);
        return value;
    }
};

/// Some figures, counted from here on.
struct counted {
    session in;
    std::map<figure, MPI_T_pvar_handle> handles;
    explicit counted(std::initializer_list<figure> wanted) {
        for (auto const f : wanted) handles[f] = in.of(f);
        EXPECT_EQ(MPI_T_pvar_start(in.handle, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    }
    unsigned long long operator[](figure f) const { return in.read(handles.at(f)); }
};

TEST(CTools, EveryFunctionAsksToBeEnteredFirst) {
    mpt::c::binding mine;
    mpt::c::take_up(mine);
    int n = 0, provided = 0;
    expect_failure(MPI_T_cvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED, {"MPI_T_cvar_get_num", "MPI_T_init_thread"});
    EXPECT_EQ(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
    EXPECT_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    EXPECT_EQ(provided, MPI_THREAD_SINGLE);
    expect_failure(MPI_T_init_thread(7, &provided), MPI_T_ERR_INVALID, {"required is 7"});
    expect_failure(MPI_T_init_thread(MPI_THREAD_SINGLE, nullptr), MPI_T_ERR_INVALID, {"provided is a null pointer"});
    {
        tool const again;
        MPI_T_pvar_session s = MPI_T_PVAR_SESSION_NULL;
        EXPECT_EQ(MPI_T_pvar_session_create(&s), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_T_cvar_get_num(&n), MPI_SUCCESS); // entered twice, left once
    EXPECT_EQ(n, static_cast<int>(mpt::config::table.size()));
    MPI_T_pvar_session s = MPI_T_PVAR_SESSION_NULL;
    EXPECT_EQ(MPI_T_pvar_session_create(&s), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_finalize(), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_cvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
    tool const later;
    expect_failure(MPI_T_pvar_session_free(&s), MPI_T_ERR_INVALID_SESSION, {"session"}); // it ended with the interface
}

TEST(CTools, TextsFollowTheRulesOfLengths) {
    mpt::c::binding mine;
    mpt::c::take_up(mine);
    tool const t;
    auto const at = cvar_place("MPT_NAP");
    auto const name_into = [at](char* into, int* length) {
        return MPI_T_cvar_get_info(at, into, length, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    };
    char text[16];
    int length = 0;
    std::memset(text, '.', sizeof text);
    EXPECT_EQ(name_into(text, &length), MPI_SUCCESS); // no room: how much is needed?
    EXPECT_EQ(length, 8);
    EXPECT_EQ(text[0], '.');
    length = -77; // never read
    EXPECT_EQ(name_into(nullptr, &length), MPI_SUCCESS);
    EXPECT_EQ(length, 8);
    length = 4;
    EXPECT_EQ(name_into(text, &length), MPI_SUCCESS);
    EXPECT_STREQ(text, "MPT");
    EXPECT_EQ(text[4], '.');
    EXPECT_EQ(length, 8);
    EXPECT_EQ(name_into(text, &length), MPI_SUCCESS);
    EXPECT_STREQ(text, "MPT_NAP");
    EXPECT_EQ(name_into(text, nullptr), MPI_SUCCESS); // ignored
}

TEST(CTools, ControlVariablesAreTheRowsOfTheTable) {
    mpt::c::binding mine;
    mpt::c::take_up(mine);
    tool const t;
    int n = 0;
    MPI_T_cvar_get_num(&n);
    for (int i = 0; i < n; ++i) {
        auto const& row = mpt::config::table[static_cast<std::size_t>(i)];
        char name[64], desc[256];
        int name_len = sizeof name, desc_len = sizeof desc, verbosity = 0, bind = 0, scope = 0;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_T_enum words = MPI_T_ENUM_NULL;
        EXPECT_EQ(MPI_T_cvar_get_info(i, name, &name_len, &verbosity, &type, &words, desc, &desc_len, &bind, &scope),
                  MPI_SUCCESS);
        EXPECT_EQ(name, row.name);
        EXPECT_EQ(desc, row.help);
        EXPECT_EQ(cvar_place(name), i);
        EXPECT_EQ(bind, MPI_T_BIND_NO_OBJECT);
        EXPECT_EQ(scope, row.where == mpt::config::scope::job ? MPI_T_SCOPE_ALL_EQ : MPI_T_SCOPE_LOCAL);
        EXPECT_EQ(words != MPI_T_ENUM_NULL, type == MPI_INT);
        if (words == MPI_T_ENUM_NULL) continue;
        int items = 0;
        EXPECT_EQ(MPI_T_enum_get_info(words, &items, name, &(name_len = sizeof name)), MPI_SUCCESS);
        auto const all = row.type == mpt::config::form::word ? row.words : "off|on";
        ASSERT_EQ(items, static_cast<int>(mpt::config::word_count(all)));
        for (int k = 0, value = -1; k < items; ++k) {
            EXPECT_EQ(MPI_T_enum_get_item(words, k, &value, name, &(name_len = sizeof name)), MPI_SUCCESS);
            EXPECT_EQ(value, k);
            EXPECT_EQ(name, mpt::config::word_at(all, static_cast<std::size_t>(k)));
        }
        expect_failure(MPI_T_enum_get_item(words, items, nullptr, nullptr, nullptr), MPI_T_ERR_INVALID_INDEX,
                       {("indx is " + std::to_string(items)).c_str()});
    }
    expect_failure(MPI_T_cvar_get_info(n, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
                   MPI_T_ERR_INVALID_INDEX, {("cvar_index is " + std::to_string(n)).c_str()});
    int at = 0, count = 0;
    MPI_T_cvar_handle h = MPI_T_CVAR_HANDLE_NULL;
    expect_failure(MPI_T_cvar_get_index("MPT_NOTHING", &at), MPI_T_ERR_INVALID_NAME, {"\"MPT_NOTHING\""});
    expect_failure(MPI_T_cvar_handle_alloc(-1, nullptr, &h, &count), MPI_T_ERR_INVALID_INDEX, {"cvar_index is -1"});
    expect_failure(MPI_T_cvar_read(h, &count), MPI_T_ERR_INVALID_HANDLE, {"handle"});
    expect_failure(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &n, nullptr, nullptr), MPI_T_ERR_INVALID_HANDLE, {"enumtype"});
}

TEST(CTools, WhatIsWrittenBeforeInitRulesTheEnvironment) {
    mpt::c::binding mine;
    mine.membership = mpt::boot::local_members(1).front();
    mpt::c::take_up(mine);
    tool const t;
    size_cvar const eager{"MPT_EAGER_MAX"};
    cvar<unsigned> const lanes{"MPT_LANES"};
    cvar<int> const wait{"MPT_WAIT"}, both{"MPT_BOTH_ENDS"};
    EXPECT_EQ(eager.get(), 65536u);
    EXPECT_EQ(eager.set(100), MPI_SUCCESS);
    EXPECT_EQ(lanes.set(3), MPI_SUCCESS);
    EXPECT_EQ(wait.set(3), MPI_SUCCESS);
    EXPECT_EQ(both.set(0), MPI_SUCCESS);
    expect_failure(lanes.set(17), MPI_T_ERR_INVALID, {"MPT_LANES=17", "1 .. 16"});
    expect_failure(wait.set(4), MPI_T_ERR_INVALID, {"*buf is 4", "auto, spin, yield, sleep"});
    expect_failure(MPI_T_cvar_write(lanes.handle, nullptr), MPI_T_ERR_INVALID, {"buf is a null pointer"});
    EXPECT_EQ(eager.get(), 100u);
    int level = 0;
    EXPECT_EQ(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), MPI_SUCCESS);
    EXPECT_EQ(mine.run().lanes(), 3u);
    EXPECT_EQ(lanes.get(), 3u);
    EXPECT_EQ(wait.get(), 3);
    EXPECT_EQ(both.get(), 0);
    expect_failure(lanes.set(2), MPI_T_ERR_CVAR_SET_NEVER, {"MPT_LANES", "MPI_Init"});
    EXPECT_EQ(eager.set(200), MPI_SUCCESS);
    EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS);
    EXPECT_EQ(eager.get(), 200u);
    EXPECT_EQ(lanes.get(), 3u);
    expect_failure(eager.set(300), MPI_T_ERR_CVAR_SET_NEVER, {"MPI_Finalize"});
}

// --- figures --------------------------------------------------------------------------------------------------------------------

/// The way that a message of a size takes to another rank.
mpt::protocol::way way_of(std::size_t n, std::size_t eager_max) {
    using mpt::c::stack;
    using mpt::protocol::way;
    constexpr auto wire = stack::route_type::facts[1];
    if (n <= std::min<std::size_t>(stack::uses.e0_max, wire.max_frame - sizeof(mpt::protocol::wire::e0))) return way::frame;
    if (!wire.lends || n > eager_max) return way::rendezvous;
    return n + sizeof(mpt::protocol::wire::e0) <= wire.max_stretch ? way::frame : way::loan;
}

TEST(CTools, MessagesAreCountedByTheWayThatTheyTake) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    using enum figure;
    ranks(2, [seed](int me, int) {
        tool const t;
        size_cvar const eager{"MPT_EAGER_MAX"};
        std::mt19937 random{seed};
        for (unsigned long long const eager_max : {8192, 500, 0}) {
            EXPECT_EQ(eager.set(eager_max), MPI_SUCCESS);
            MPI_Barrier(MPI_COMM_WORLD);
            counted const c{e0_messages_sent,     e0_bytes_sent,     e1_messages_sent,       e1_bytes_sent,
                            rndv_messages_sent,   rndv_bytes_sent,   e0_messages_received,   e0_bytes_received,
                            e1_messages_received, e1_bytes_received, rndv_messages_received, rndv_bytes_received,
                            messages_pulled,      messages_joined,   messages_pushed,        loans_missed};
            unsigned long long messages[3]{}, bytes[3]{};
            for (int i = 0; i < 40; ++i) {
                static constexpr std::size_t most[] = {9, 41, 105, 600, 9000, 70000};
                std::vector<std::byte> data(random() % most[random() % 6]);
                // Of so many bytes an answer goes by a loan, other messages in a long frame; and this may be one, to a barrier or a fin.
                if (data.size() > 104 && data.size() <= 264) data.resize(104);
                auto const way = static_cast<std::size_t>(way_of(data.size(), eager_max));
                ++messages[way], bytes[way] += data.size();
                auto const n = static_cast<int>(data.size());
                if (me == 0) MPI_Send(data.data(), n, MPI_BYTE, 1, i, MPI_COMM_WORLD);
                else MPI_Recv(data.data(), n, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
            EXPECT_EQ(c[loans_missed], 0u); // a blocking receiver gives them back
            bool const sends = me == 0;
            EXPECT_EQ(c[e0_messages_sent], sends ? messages[0] : 0);
            EXPECT_EQ(c[e0_bytes_sent], sends ? bytes[0] : 0);
            EXPECT_EQ(c[e1_messages_sent], sends ? messages[1] : 0);
            EXPECT_EQ(c[e1_bytes_sent], sends ? bytes[1] : 0);
            EXPECT_EQ(c[rndv_messages_sent], sends ? messages[2] : 0);
            EXPECT_EQ(c[rndv_bytes_sent], sends ? bytes[2] : 0);
            EXPECT_EQ(c[e0_messages_received], sends ? 0 : messages[0]);
            EXPECT_EQ(c[e0_bytes_received], sends ? 0 : bytes[0]);
            EXPECT_EQ(c[e1_messages_received], sends ? 0 : messages[1]);
            EXPECT_EQ(c[e1_bytes_received], sends ? 0 : bytes[1]);
            EXPECT_EQ(c[rndv_messages_received], sends ? 0 : messages[2]);
            EXPECT_EQ(c[rndv_bytes_received], sends ? 0 : bytes[2]);
            EXPECT_EQ(c[messages_pulled] + c[messages_joined] + c[messages_pushed], sends ? 0 : messages[2]);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    });
}

TEST(CTools, QueuesShowWhatWaits) {
    using enum figure;
    ranks(2, [](int me, int) {
        tool const t;
        constexpr int n = 30, last = 99;
        auto const other = dup_of(MPI_COMM_WORLD);
        int x = 0;
        if (me == 1) {
            MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < n; ++i) MPI_Send(&i, 1, MPI_INT, 0, i, other);
            MPI_Send(&x, 1, MPI_INT, 0, last, other);
            MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < n; ++i) MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        } else {
            session const s;
            auto const kept = s.of(unexpected_messages), size = s.of(unexpected_bytes), most = s.of(unexpected_queue_most);
            auto const here = s.of(comm_unexpected_queue, other), world = s.of(comm_unexpected_queue, MPI_COMM_WORLD);
            auto const posted = s.of(comm_posted_queue, MPI_COMM_WORLD), all = s.of(posted_queue), alive = s.of(requests);
            auto const memory = s.of(unexpected_memory), memory_most = s.of(unexpected_memory_most);
            EXPECT_EQ(MPI_T_pvar_start(s.handle, kept), MPI_SUCCESS);
            EXPECT_EQ(MPI_T_pvar_start(s.handle, size), MPI_SUCCESS);
            auto const empty = s.read(memory);
            MPI_Request final = MPI_REQUEST_NULL; // expected, however late we are
            MPI_Irecv(&x, 1, MPI_INT, 1, last, other, &final);
            int go = 0;
            MPI_Send(&go, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            MPI_Wait(&final, MPI_STATUS_IGNORE);
            EXPECT_EQ(s.read(kept), unsigned{n});
            EXPECT_EQ(s.read(size), n * sizeof(int));
            EXPECT_EQ(s.read(here), unsigned{n});
            EXPECT_EQ(s.read(world), 0u);
            EXPECT_GE(s.read(most), unsigned{n});
            EXPECT_GE(s.read(memory), empty + n * sizeof(int));
            EXPECT_GE(s.read(memory_most), s.read(memory));
            for (int i = n; i-- > 0;) {
                MPI_Recv(&x, 1, MPI_INT, 1, i, other, MPI_STATUS_IGNORE);
                EXPECT_EQ(x, i);
                EXPECT_EQ(s.read(here), static_cast<unsigned>(i));
            }
            EXPECT_GE(s.read(most), unsigned{n});
            std::vector<MPI_Request> pending(n);
            std::vector<int> into(n);
            auto const before = s.read(all), others = s.read(alive);
            for (int i = 0; i < n; ++i)
                MPI_Irecv(&into[static_cast<std::size_t>(i)], 1, MPI_INT, 1, i, MPI_COMM_WORLD,
                          &pending[static_cast<std::size_t>(i)]);
            EXPECT_EQ(s.read(posted), unsigned{n});
            EXPECT_EQ(s.read(all), before + n);
            EXPECT_EQ(s.read(alive), others + n);
            MPI_Send(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            MPI_Waitall(n, pending.data(), MPI_STATUSES_IGNORE);
            EXPECT_EQ(s.read(posted), 0u);
            EXPECT_EQ(s.read(alive), others);
            EXPECT_EQ(s.read(kept), unsigned{n}); // those were expected
        }
        MPI_Comm freed = other;
        MPI_Comm_free(&freed);
        MPI_T_pvar_handle h = MPI_T_PVAR_HANDLE_NULL;
        session const s;
        int count = 0;
        expect_failure(MPI_T_pvar_handle_alloc(s.handle, static_cast<int>(comm_posted_queue), &freed, &h, &count),
                       MPI_T_ERR_INVALID_HANDLE, {"obj_handle", "mpt_comm_posted_queue"});
    });
}

TEST(CTools, AWaitShowsWhatItIsForAndThatItSleeps) {
    std::promise<void> asleep;
    ranks(2, [&](int me, int) {
        tool const t;
        int x = 0;
        if (me == 1) {
            asleep.get_future().wait();
            MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            return;
        }
        session const s;
        auto const sleeps = s.of(figure::sleeps), state = s.of(figure::waiting_for), time = s.of(figure::time_asleep);
        MPI_T_pvar_start(s.handle, MPI_T_PVAR_ALL_HANDLES);
        auto looker = thread_of_rank([&] {
            while (s.read(sleeps) < 2 || s.read<int>(state) == 0) std::this_thread::yield();
            EXPECT_EQ(s.read<int>(state), 2); // "receive"
            asleep.set_value();
        });
        MPI_Recv(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        looker.join();
        EXPECT_EQ(s.read<int>(state), 0);
        EXPECT_GT(s.read<double>(time), 0.0);
        EXPECT_EQ(MPI_T_pvar_stop(s.handle, time), MPI_SUCCESS);
        double seconds = 5.5, got = 0;
        EXPECT_EQ(MPI_T_pvar_write(s.handle, time, &seconds), MPI_SUCCESS);
        EXPECT_EQ(MPI_T_pvar_read(s.handle, time, &got), MPI_SUCCESS);
        EXPECT_DOUBLE_EQ(got, 5.5);
        auto const share = s.of(figure::arena_share);
        EXPECT_GT(s.read<double>(share), 0.0);
        EXPECT_LE(s.read<double>(share), 1.0);
    });
}

TEST(CTools, PerformanceVariablesAreTheRowsOfTheTable) {
    mpt::c::binding mine;
    mpt::c::take_up(mine);
    tool const t;
    int n = 0, at = -1;
    EXPECT_EQ(MPI_T_pvar_get_num(&n), MPI_SUCCESS);
    ASSERT_EQ(n, static_cast<int>(figure_table.size()));
    session const s;
    for (int i = 0; i < n; ++i) {
        auto const& row = figure_table[static_cast<std::size_t>(i)];
        char name[64], desc[256];
        int name_len = sizeof name, desc_len = sizeof desc, verbosity = 0, var_class = 0, bind = 0, readonly = -1,
            continuous = -1, atomic = -1;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_T_enum words = MPI_T_ENUM_NULL;
        EXPECT_EQ(MPI_T_pvar_get_info(i, name, &name_len, &verbosity, &var_class, &type, &words, desc, &desc_len, &bind,
                                      &readonly, &continuous, &atomic),
                  MPI_SUCCESS);
        EXPECT_EQ(name, row.name);
        EXPECT_EQ(desc, row.help);
        EXPECT_EQ(MPI_T_pvar_get_index(name, var_class, &at), MPI_SUCCESS);
        EXPECT_EQ(at, i);
        EXPECT_EQ(bind, row.of_communicator ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT);
        EXPECT_EQ(words != MPI_T_ENUM_NULL, var_class == MPI_T_PVAR_CLASS_STATE);
        bool const grows = var_class == MPI_T_PVAR_CLASS_COUNTER || var_class == MPI_T_PVAR_CLASS_AGGREGATE ||
                           var_class == MPI_T_PVAR_CLASS_TIMER;
        EXPECT_EQ(readonly, !grows);
        EXPECT_EQ(continuous, !grows);
        EXPECT_EQ(atomic, grows);
        if (row.of_communicator) continue;
        auto h = s.of(row.what);
        unsigned long long value = 77, zero = 0;
        EXPECT_EQ(MPI_T_pvar_read(s.handle, h, &value), MPI_SUCCESS); // before MPI_Init
        EXPECT_EQ(type == MPI_INT ? value & 0xffffffff : value, 0u);
        EXPECT_EQ(MPI_T_pvar_start(s.handle, h), grows ? MPI_SUCCESS : MPI_T_ERR_PVAR_NO_STARTSTOP);
        EXPECT_EQ(MPI_T_pvar_stop(s.handle, h), grows ? MPI_SUCCESS : MPI_T_ERR_PVAR_NO_STARTSTOP);
        EXPECT_EQ(MPI_T_pvar_reset(s.handle, h), grows ? MPI_SUCCESS : MPI_T_ERR_PVAR_NO_WRITE);
        EXPECT_EQ(MPI_T_pvar_write(s.handle, h, &zero), grows ? MPI_SUCCESS : MPI_T_ERR_PVAR_NO_WRITE);
        EXPECT_EQ(MPI_T_pvar_readreset(s.handle, h, &value), grows ? MPI_SUCCESS : MPI_T_ERR_PVAR_NO_ATOMIC);
        EXPECT_EQ(MPI_T_pvar_handle_free(s.handle, &h), MPI_SUCCESS);
        EXPECT_EQ(h, MPI_T_PVAR_HANDLE_NULL);
    }
    expect_failure(MPI_T_pvar_get_index("mpt_requests", MPI_T_PVAR_CLASS_COUNTER, &at), MPI_T_ERR_INVALID_NAME,
                   {"\"mpt_requests\""});
    expect_failure(MPI_T_pvar_get_index("mpt_requests", 99, &at), MPI_T_ERR_INVALID, {"var_class is 99"});
}

TEST(CTools, HandlesCountForThemselves) {
    ranks(1, [](int, int) {
        tool const t;
        session const one, two;
        auto const a = one.of(figure::e0_messages_sent), b = two.of(figure::e0_messages_sent);
        auto const send = [](int times) {
            for (int i = 0, x = 0; i < times; ++i)
                MPI_Sendrecv(&i, 1, MPI_INT, 0, 0, &x, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        };
        send(3);
        EXPECT_EQ(one.read(a), 0u); // not started
        MPI_T_pvar_start(one.handle, a);
        send(4);
        MPI_T_pvar_start(two.handle, MPI_T_PVAR_ALL_HANDLES);
        MPI_T_pvar_start(one.handle, a); // no second time
        send(5);
        EXPECT_EQ(one.read(a), 9u);
        EXPECT_EQ(two.read(b), 5u);
        EXPECT_EQ(MPI_T_pvar_stop(one.handle, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
        send(6);
        EXPECT_EQ(one.read(a), 9u);
        MPI_T_pvar_start(one.handle, a);
        send(1);
        EXPECT_EQ(one.read(a), 10u);
        unsigned long long value = 100;
        EXPECT_EQ(MPI_T_pvar_write(one.handle, a, &value), MPI_SUCCESS);
        send(2);
        EXPECT_EQ(one.read(a), 102u);
        EXPECT_EQ(MPI_T_pvar_readreset(one.handle, a, &value), MPI_SUCCESS);
        EXPECT_EQ(value, 102u);
        send(2);
        EXPECT_EQ(one.read(a), 2u);
        EXPECT_EQ(MPI_T_pvar_reset(one.handle, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
        EXPECT_EQ(one.read(a), 0u);
        EXPECT_EQ(two.read(b), 16u);
        expect_failure(MPI_T_pvar_read(one.handle, b, &value), MPI_T_ERR_INVALID_HANDLE, {"another session"});
        expect_failure(MPI_T_pvar_read(one.handle, MPI_T_PVAR_ALL_HANDLES, &value), MPI_T_ERR_INVALID_HANDLE, {"handle"});
        expect_failure(MPI_T_pvar_read(MPI_T_PVAR_SESSION_NULL, a, &value), MPI_T_ERR_INVALID_SESSION, {"session"});
        expect_failure(MPI_T_pvar_read(one.handle, a, nullptr), MPI_T_ERR_INVALID, {"buf is a null pointer"});
    });
}

TEST(CTools, FiguresOutliveFinalize) {
    mpt::c::binding mine;
    mine.membership = mpt::boot::local_members(1).front();
    mpt::c::take_up(mine);
    tool const t;
    session const s;
    auto const sent = s.of(figure::e0_messages_sent);
    MPI_T_pvar_start(s.handle, sent); // before MPI_Init: everything counts
    MPI_Init(nullptr, nullptr);
    for (int i = 0, x = 0; i < 7; ++i)
        MPI_Sendrecv(&i, 1, MPI_INT, 0, 0, &x, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    auto const before = s.read(sent);
    EXPECT_GE(before, 7u);
    MPI_Finalize();
    EXPECT_EQ(s.read(sent), before);
}

// --- categories -----------------------------------------------------------------------------------------------------------------

TEST(CTools, EverythingIsInOneCategoryOfTheTree) {
    mpt::c::binding mine;
    mpt::c::take_up(mine);
    tool const t;
    int n = 0, stamp = -1;
    EXPECT_EQ(MPI_T_category_get_num(&n), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_category_changed(&stamp), MPI_SUCCESS);
    EXPECT_EQ(stamp, 0); // they never change
    expect_failure(MPI_T_category_changed(nullptr), MPI_T_ERR_INVALID, {"is a null pointer"});
    std::multiset<int> cvars, pvars, events, children{0}; // the root is nobody's
    for (int i = 0; i < n; ++i) {
        char name[64], desc[256];
        int name_len = sizeof name, desc_len = sizeof desc, of[4]{-1, -1, -1, -1}, at = -1;
        EXPECT_EQ(MPI_T_category_get_info(i, name, &name_len, desc, &desc_len, &of[0], &of[1], &of[2]), MPI_SUCCESS);
        EXPECT_EQ(MPI_T_category_get_num_events(i, &of[3]), MPI_SUCCESS);
        EXPECT_EQ(MPI_T_category_get_index(name, &at), MPI_SUCCESS);
        EXPECT_EQ(at, i);
        auto const collect = [i](auto get, int many, std::multiset<int>& into) {
            std::vector<int> list(static_cast<std::size_t>(many) + 1, -5);
            EXPECT_EQ(get(i, many + 1, list.data()), MPI_SUCCESS);
            EXPECT_EQ(list.back(), -5);
            list.pop_back();
            into.insert(list.begin(), list.end());
            if (many < 2) return;
            int two[2]{-5, -5};
            EXPECT_EQ(get(i, 1, two), MPI_SUCCESS); // as many as there is room for
            EXPECT_EQ(two[0], list[0]);
            EXPECT_EQ(two[1], -5);
        };
        collect(MPI_T_category_get_cvars, of[0], cvars);
        collect(MPI_T_category_get_pvars, of[1], pvars);
        collect(MPI_T_category_get_categories, of[2], children);
        collect(MPI_T_category_get_events, of[3], events);
    }
    auto const all = [](std::size_t many) {
        std::multiset<int> s;
        for (int i = 0; i < static_cast<int>(many); ++i) s.insert(i);
        return s;
    };
    EXPECT_EQ(cvars, all(mpt::config::table.size()));
    EXPECT_EQ(pvars, all(figure_table.size()));
    EXPECT_EQ(events, all(mpt::c::event_table.size()));
    EXPECT_EQ(children, all(static_cast<std::size_t>(n)));
    int at = 0;
    expect_failure(MPI_T_category_get_index("nothing", &at), MPI_T_ERR_INVALID_NAME, {"\"nothing\""});
    expect_failure(MPI_T_category_get_cvars(n, 0, nullptr), MPI_T_ERR_INVALID_INDEX, {"cat_index"});
    expect_failure(MPI_T_category_get_cvars(0, -1, nullptr), MPI_T_ERR_INVALID, {"len is -1"});
}

// --- events -----------------------------------------------------------------------------------------------------------------------

struct seen {
    MPI_T_event_registration from;
    unsigned long long context, bytes;
    int peer, tag;
    MPI_Count when;
};
/// What a callback's user_data leads to.
struct diary {
    std::vector<seen> events;
    MPI_Count dropped = 0;
    int freed = 0;
};

void note(MPI_T_event_instance e, MPI_T_event_registration r, MPI_T_cb_safety safety, void* user_data) {
    EXPECT_EQ(safety, MPI_T_CB_REQUIRE_NONE);
    struct {
        unsigned long long context, bytes;
        int peer, tag;
    } all{};
    int source = -1, tag = -1;
    seen s{};
    EXPECT_EQ(MPI_T_event_copy(e, &all), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_event_read(e, 3, &tag), MPI_SUCCESS);
    EXPECT_EQ(tag, all.tag);
    expect_failure(MPI_T_event_read(e, 4, &tag), MPI_T_ERR_INVALID_INDEX, {"element_index is 4"});
    EXPECT_EQ(MPI_T_event_get_timestamp(e, &s.when), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_event_get_source(e, &source), MPI_SUCCESS);
    EXPECT_EQ(source, 0);
    s = {r, all.context, all.bytes, all.peer, all.tag, s.when};
    static_cast<diary*>(user_data)->events.push_back(s);
}
void note_dropped(MPI_Count n, MPI_T_event_registration, int source, MPI_T_cb_safety, void* user_data) {
    EXPECT_EQ(source, 0);
    static_cast<diary*>(user_data)->dropped += n;
}
void note_freed(MPI_T_event_registration, MPI_T_cb_safety, void* user_data) { ++static_cast<diary*>(user_data)->freed; }

MPI_T_event_registration registered(char const* name, diary& d, MPI_T_cb_safety safety = MPI_T_CB_REQUIRE_NONE) {
    int at = -1;
    MPI_T_event_registration r{};
    EXPECT_EQ(MPI_T_event_get_index(name, &at), MPI_SUCCESS) << name;
    EXPECT_EQ(MPI_T_event_handle_alloc(at, nullptr, MPI_INFO_NULL, &r), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_event_register_callback(r, safety, MPI_INFO_NULL, &d, note), MPI_SUCCESS);
    return r;
}
/// Any call of MPI: it delivers first.
void deliver() {
    int x = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &x);
}

TEST(CTools, EventsTellOfUnexpectedMessagesAndRendezvous) {
    ranks(2, [](int me, int) {
        tool const t;
        diary unexpected, offered, sent, received;
        auto const u = registered("mpt_unexpected_message", unexpected, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE);
        auto const o = registered("mpt_rendezvous_offered", offered), s = registered("mpt_rendezvous_sent", sent);
        auto const r = registered("mpt_rendezvous_received", received);
        MPI_Count begin = 0, end = 0;
        EXPECT_EQ(MPI_T_source_get_timestamp(0, &begin), MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
        std::vector<std::byte> big(300'000);
        int x = 0;
        if (me == 0) {
            for (int i = 0; i < 10; ++i) MPI_Send(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
            MPI_Request big_one = MPI_REQUEST_NULL;
            MPI_Issend(big.data(), 300'000, MPI_BYTE, 1, 50, MPI_COMM_WORLD, &big_one);
            MPI_Send(&x, 1, MPI_INT, 1, 60, MPI_COMM_WORLD);
            MPI_Wait(&big_one, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&x, 1, MPI_INT, 0, 60, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(big.data(), 300'000, MPI_BYTE, 0, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 10; i-- > 0;) MPI_Recv(&x, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        deliver();
        EXPECT_EQ(MPI_T_source_get_timestamp(0, &end), MPI_SUCCESS);
        auto const in_order = [&](diary const& d) {
            auto last = begin;
            for (auto const& e : d.events) EXPECT_LE(last, e.when), last = e.when;
            EXPECT_LE(last, end);
        };
        for (auto* d : {&unexpected, &offered, &sent, &received}) {
            in_order(*d);
            std::erase_if(d->events, [](seen const& e) { // those of the barriers, and what may come early or late
                return e.context != static_cast<std::uint64_t>(mpt::c::here().world->context) || e.tag == 60;
            });
        }
        if (me == 0) {
            ASSERT_EQ(offered.events.size(), 1u);
            ASSERT_EQ(sent.events.size(), 1u);
            EXPECT_TRUE(received.events.empty());
            EXPECT_EQ(offered.events[0].peer, 1);
            EXPECT_EQ(offered.events[0].tag, 50);
            EXPECT_EQ(sent.events[0].bytes, 300'000u);
            EXPECT_LE(offered.events[0].when, sent.events[0].when);
        } else {
            ASSERT_EQ(unexpected.events.size(), 11u);
            for (int i = 0; i < 11; ++i) {
                auto const& e = unexpected.events[static_cast<std::size_t>(i)];
                EXPECT_EQ(e.from, u);
                EXPECT_EQ(e.peer, 0);
                EXPECT_EQ(e.tag, i < 10 ? i : 50);
                EXPECT_EQ(e.bytes, i < 10 ? sizeof(int) : 300'000);
            }
            ASSERT_EQ(received.events.size(), 1u);
            EXPECT_EQ(received.events[0].tag, 50);
            EXPECT_TRUE(offered.events.empty());
        }
        for (auto const one : {u, o, s, r}) EXPECT_EQ(MPI_T_event_handle_free(one, &sent, note_freed), MPI_SUCCESS);
        EXPECT_EQ(sent.freed, 4);
        expect_failure(MPI_T_event_handle_free(u, nullptr, nullptr), MPI_T_ERR_INVALID_HANDLE, {"event_registration"});
        MPI_Barrier(MPI_COMM_WORLD);
    });
}

TEST(CTools, EventsThatFindNoRoomAreCounted) {
    ranks(2, [](int me, int) {
        tool const t;
        constexpr int n = 1500;
        int x = 0;
        if (me == 0) {
            for (int i = 0; i < n; ++i) MPI_Send(&i, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
            MPI_Send(&x, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
        } else {
            diary d;
            auto const r = registered("mpt_unexpected_message", d);
            EXPECT_EQ(MPI_T_event_set_dropped_handler(r, note_dropped), MPI_SUCCESS);
            // Everything comes within this call: a large form, as the small one's second try would be another beginning.
            MPI_Recv_c(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            EXPECT_TRUE(d.events.empty());
            deliver();
            EXPECT_EQ(d.events.size(), 1024u);
            EXPECT_EQ(d.dropped, n - 1024);
            for (int i = 0; i < n; ++i) {
                MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                EXPECT_EQ(x, i);
            }
            EXPECT_EQ(d.dropped, n - 1024); // told once
            EXPECT_EQ(MPI_T_event_handle_free(r, nullptr, nullptr), MPI_SUCCESS);
        }
    });
}

/// Talks in MPI_COMM_SELF and frees its own registration.
void busy(MPI_T_event_instance, MPI_T_event_registration r, MPI_T_cb_safety, void* user_data) {
    auto* const d = static_cast<diary*>(user_data);
    int x = 0;
    int const y = 5;
    EXPECT_EQ(MPI_Sendrecv(&y, 1, MPI_INT, 0, 77, &x, 1, MPI_INT, 0, 77, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(x, 5);
    d->events.push_back({});
    EXPECT_EQ(MPI_T_event_handle_free(r, d, note_freed), MPI_SUCCESS);
    EXPECT_EQ(d->freed, 0); // not while it runs
}

TEST(CTools, ACallbackMayDoAnything) {
    ranks(1, [](int, int) {
        tool const t;
        diary d, others;
        auto const other = registered("mpt_unexpected_message", others);
        auto const r = registered("mpt_unexpected_message", d);
        EXPECT_EQ(MPI_T_event_register_callback(r, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &d, busy), MPI_SUCCESS);
        int x = 0;
        for (int i = 0; i < 3; ++i) MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_SELF);
        for (int i = 3; i-- > 0;) MPI_Recv(&x, 1, MPI_INT, 0, i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        deliver();
        EXPECT_EQ(d.events.size(), 1u);
        EXPECT_EQ(d.freed, 1);
        EXPECT_GE(others.events.size(), 2u);
        EXPECT_EQ(MPI_T_event_register_callback(other, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, nullptr, nullptr), MPI_SUCCESS);
        auto const so_far = others.events.size();
        MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
        MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        deliver();
        EXPECT_EQ(others.events.size(), so_far); // without a function nothing is called
        expect_failure(MPI_T_event_register_callback(other, static_cast<MPI_T_cb_safety>(1), MPI_INFO_NULL, nullptr, note),
                       MPI_T_ERR_INVALID, {"cb_safety is 1"});
    });
}

TEST(CTools, EventTypesDescribeThemselves) {
    mpt::c::binding mine;
    mpt::c::take_up(mine);
    tool const t;
    int n = 0, sources = 0;
    EXPECT_EQ(MPI_T_event_get_num(&n), MPI_SUCCESS);
    EXPECT_GE(n, 2);
    for (int i = 0; i < n; ++i) {
        char name[64], desc[256];
        int name_len = sizeof name, desc_len = sizeof desc, verbosity = 0, bind = 0, elements = 2, at = -1, keys = -1;
        MPI_Datatype types[4]{MPI_BYTE, MPI_BYTE, MPI_BYTE, MPI_BYTE};
        MPI_Aint places[4]{-1, -1, -1, -1};
        MPI_T_enum words{};
        MPI_Info info = MPI_INFO_NULL;
        EXPECT_EQ(MPI_T_event_get_info(i, name, &name_len, &verbosity, types, places, &elements, &words, &info, desc, &desc_len,
                                       &bind),
                  MPI_SUCCESS);
        EXPECT_EQ(elements, 4);
        EXPECT_EQ(types[1], MPI_UNSIGNED_LONG_LONG);
        EXPECT_EQ(types[2], MPI_BYTE); // there was room for two
        EXPECT_EQ(places[1], 8);
        EXPECT_EQ(places[2], -1);
        EXPECT_EQ(words, MPI_T_ENUM_NULL);
        EXPECT_EQ(bind, MPI_T_BIND_NO_OBJECT);
        MPI_T_event_registration unbound{};
        int no_object = 0; // which is not looked at
        EXPECT_EQ(MPI_T_event_handle_alloc(i, &no_object, MPI_INFO_NULL, &unbound), MPI_SUCCESS);
        EXPECT_EQ(MPI_T_event_handle_free(unbound, nullptr, nullptr), MPI_SUCCESS);
        EXPECT_EQ(MPI_Info_get_nkeys(info, &keys), MPI_SUCCESS);
        EXPECT_EQ(keys, 0);
        EXPECT_EQ(MPI_Info_free(&info), MPI_SUCCESS);
        EXPECT_EQ(MPI_T_event_get_index(name, &at), MPI_SUCCESS);
        EXPECT_EQ(at, i);
        EXPECT_EQ(MPI_T_event_get_info(i, nullptr, nullptr, nullptr, types, places, &elements, nullptr, nullptr, nullptr,
                                       nullptr, nullptr),
                  MPI_SUCCESS);
        EXPECT_EQ(types[3], MPI_INT);
        EXPECT_EQ(places[3], 20);
    }
    EXPECT_EQ(MPI_T_source_get_num(&sources), MPI_SUCCESS);
    EXPECT_EQ(sources, 1);
    MPI_T_source_order order{};
    MPI_Count per_second = 0, most = 0;
    int none = 0;
    EXPECT_EQ(MPI_T_source_get_info(0, nullptr, nullptr, nullptr, &none, &order, &per_second, &most, nullptr), MPI_SUCCESS);
    EXPECT_EQ(order, MPI_T_SOURCE_ORDERED);
    EXPECT_EQ(per_second, 1'000'000'000);
    EXPECT_GT(none, 1);
    MPI_Count now = 0;
    expect_failure(MPI_T_source_get_timestamp(1, &now), MPI_T_ERR_INVALID_INDEX, {"source_index is 1"});
    expect_failure(MPI_T_source_get_info(-1, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
                   MPI_T_ERR_INVALID_INDEX, {"source_index is -1"});
    MPI_T_event_registration none_such{};
    expect_failure(MPI_T_event_get_timestamp(MPI_T_event_instance{}, &now), MPI_T_ERR_INVALID_HANDLE, {"event_instance"});
    int at = 0;
    expect_failure(MPI_T_event_get_index("nothing", &at), MPI_T_ERR_INVALID_NAME, {"\"nothing\""});
    expect_failure(MPI_T_event_handle_alloc(99, nullptr, MPI_INFO_NULL, &none_such), MPI_T_ERR_INVALID_INDEX,
                   {"event_index is 99"});
}

/// A new info object, in which there is nothing: no hint is used.
void expect_no_hints(MPI_Info& made) {
    int n = -1;
    EXPECT_EQ(MPI_Info_get_nkeys(made, &n), MPI_SUCCESS);
    EXPECT_EQ(n, 0);
    EXPECT_EQ(MPI_Info_free(&made), MPI_SUCCESS);
}

TEST(CTools, HintsOfEventsAreReadAndNoneIsUsed) {
    mpt::c::binding mine;
    mpt::c::take_up(mine);
    tool const entered;
    diary d;
    auto const r = registered("mpt_throttled", d);
    constexpr std::array levels{MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_T_CB_REQUIRE_THREAD_SAFE,
                                MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};
    MPI_Info hints = MPI_INFO_NULL, told = MPI_INFO_NULL;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "mpt_speed", "high");
    EXPECT_EQ(MPI_T_event_handle_set_info(r, hints), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_event_handle_set_info(r, MPI_INFO_ENV), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_event_handle_get_info(r, &told), MPI_SUCCESS);
    expect_no_hints(told);
    for (auto const level : levels) {
        EXPECT_EQ(MPI_T_event_callback_set_info(r, level, hints), MPI_SUCCESS);
        EXPECT_EQ(MPI_T_event_callback_get_info(r, level, &told), MPI_SUCCESS);
        expect_no_hints(told);
    }
    EXPECT_EQ(MPI_T_event_get_info(0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &told, nullptr, nullptr,
                                   nullptr),
              MPI_SUCCESS);
    expect_no_hints(told);
    EXPECT_EQ(MPI_T_source_get_info(0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &told), MPI_SUCCESS);
    expect_no_hints(told);

    auto const wrong = static_cast<MPI_T_cb_safety>(7);
    expect_failure(MPI_T_event_callback_set_info(r, wrong, hints), MPI_T_ERR_INVALID, {"cb_safety is 7"});
    expect_failure(MPI_T_event_callback_get_info(r, wrong, &told), MPI_T_ERR_INVALID, {"cb_safety is 7"});
    expect_failure(MPI_T_event_handle_get_info(r, nullptr), MPI_T_ERR_INVALID, {"info_used is a null pointer"});
    auto const dead = hints;
    MPI_Info_free(&hints);
    expect_failure(MPI_T_event_handle_set_info(r, dead), MPI_T_ERR_INVALID, {"info is 0x"});
    expect_failure(MPI_T_event_callback_set_info(r, levels[0], dead), MPI_T_ERR_INVALID, {"info is 0x"});
    EXPECT_EQ(MPI_T_event_handle_free(r, nullptr, nullptr), MPI_SUCCESS);
    auto const gone = {MPI_T_event_handle_set_info(r, MPI_INFO_NULL), MPI_T_event_handle_get_info(r, &told),
                       MPI_T_event_callback_set_info(r, levels[0], MPI_INFO_NULL),
                       MPI_T_event_callback_get_info(r, levels[0], &told)};
    for (int const code : gone) expect_failure(code, MPI_T_ERR_INVALID_HANDLE, {"event_registration"});
}

TEST(CTools, AThrottledSenderHearsOfItAndAnnounces) {
    ranks(2, [](int me, int) {
        tool const t;
        size_cvar const most{"MPT_UNEXPECTED_MAX"};
        EXPECT_EQ(most.set(2000), MPI_SUCCESS); // while the job runs
        diary throttled, relieved;
        auto const a = registered("mpt_throttled", throttled), b = registered("mpt_relieved", relieved);
        counted const c{figure::throttled, figure::throttles, figure::rndv_messages_sent};
        MPI_Barrier(MPI_COMM_WORLD);
        int x = 0;
        constexpr int n = 50;
        if (me == 0) {
            for (int i = 0; i < n; ++i) MPI_Send(&i, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
            MPI_Send(&x, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
            MPI_Recv(&x, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            deliver();
            EXPECT_EQ(throttled.events.size(), 1u);
            EXPECT_TRUE(relieved.events.empty());
            EXPECT_EQ(c[figure::rndv_messages_sent], 0u);
            MPI_Send(&x, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
            EXPECT_EQ(c[figure::rndv_messages_sent], 1u);
            MPI_Recv(&x, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            deliver();
            EXPECT_EQ(relieved.events.size(), 1u);
        } else {
            MPI_Recv(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&x, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
            MPI_Probe(0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // receiving before it would relieve the sender
            for (int i = 0; i < n; ++i) MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(&x, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&x, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        }
        EXPECT_EQ(c[figure::throttled], me == 0 ? 1u : 0u);
        EXPECT_EQ(c[figure::throttles], me == 1 ? 1u : 0u);
        EXPECT_EQ(MPI_T_event_handle_free(a, nullptr, nullptr), MPI_SUCCESS);
        EXPECT_EQ(MPI_T_event_handle_free(b, nullptr, nullptr), MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
    });
}

// --- threads ------------------------------------------------------------------------------------------------------------------------

void look(MPI_T_event_instance e, MPI_T_event_registration, MPI_T_cb_safety, void*) {
    int tag = -1;
    EXPECT_EQ(MPI_T_event_read(e, 3, &tag), MPI_SUCCESS);
    EXPECT_GE(tag, 0);
}
void tell_gone(MPI_T_event_registration, MPI_T_cb_safety, void* user_data) {
    static_cast<std::promise<void>*>(user_data)->set_value();
}

TEST(CTools, ThreadsUseHandlesWhileMessagesFlow) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    ranks(2, [seed](int me, int) {
        tool const t;
        std::vector<std::thread> all;
        for (unsigned i = 0; i < 3; ++i)
            all.push_back(thread_of_rank([start = seed + i + 10 * static_cast<unsigned>(me)] {
                std::mt19937 random{start};
                tool const again;
                size_cvar const eager{"MPT_EAGER_MAX"};
                cvar<unsigned> const spin{"MPT_SPIN"};
                for (int step = 0; step < 60; ++step) {
                    session const s;
                    auto const f = random() % 3 == 0 ? figure::requests : figure::e0_messages_received;
                    auto const h = s.of(f);
                    MPI_T_pvar_start(s.handle, MPI_T_PVAR_ALL_HANDLES);
                    auto const first = s.read(h);
                    EXPECT_TRUE(f == figure::requests || first <= s.read(h));
                    EXPECT_EQ(eager.set(random() % 8192), MPI_SUCCESS);
                    EXPECT_EQ(spin.set(static_cast<unsigned>(random() % 3000)), MPI_SUCCESS);
                    std::promise<void> gone; // a function of ours may still be running
                    MPI_T_event_registration r{};
                    EXPECT_EQ(MPI_T_event_handle_alloc(0, nullptr, MPI_INFO_NULL, &r), MPI_SUCCESS);
                    EXPECT_EQ(MPI_T_event_register_callback(r, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &gone, look), MPI_SUCCESS);
                    EXPECT_EQ(MPI_T_event_handle_free(r, &gone, tell_gone), MPI_SUCCESS);
                    gone.get_future().wait();
                }
            }));
        std::vector<std::byte> data(9000);
        for (int i = 0; i < 300; ++i) {
            auto const n = i * 30 % 9000;
            if (me == 0) MPI_Send(data.data(), n, MPI_BYTE, 1, i % 2, MPI_COMM_WORLD);
            else MPI_Recv(data.data(), n, MPI_BYTE, 0, i % 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (auto& one : all) one.join();
        MPI_Barrier(MPI_COMM_WORLD);
    });
}

} // namespace
