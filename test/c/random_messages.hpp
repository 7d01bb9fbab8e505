// test/c/random_messages - random programs of messages between two, whose records the matching oracle judges. Ranks are threads or
// processes; MPI is there. A program is rounds; a round of a rank is
//
//   some receives are posted ── sends of every mode, more receives, probes ── all else is taken ── what got nothing is cancelled
//
// Wildcards compete with exact receives, so no receive knows what it gets, and whatever is posted may get nothing. No round hangs, for
// what is left over is always taken in the end, and a rank blocks only
//   - in sends to ranks above it in an order of the round (its `level`), which do not wait for it, and take everything;
//   - in receives for which more messages are under way than other receives of its own can take: and that before all ranks have sent
//     only in rounds without sends that block.
#pragma once
#include <mpi.h>

#include <cstring>
#include <deque>
#include <memory>
#include <numeric>

#include "../support/dice.hpp"
#include "../support/matching_oracle.hpp"

namespace mpt::c::test {

class random_messages {
    using dice = mpt::test::dice;
    using event = mpt::test::event;
    using bytes_of = std::vector<char>;
    static constexpr int any = -1, comms = 4, tags = 3, late_tag = 3, ready_tag = 9;

    enum class mode { standard, synchronous, buffered, ready };
    enum class way { started, blocking, persistent, exchange };
    struct message {
        int from, to, comm, tag, bytes;
        mode in;
        way by;
        int times; // of a persistent one
        bool gaps;
    };
    struct plan {
        std::vector<message> messages; // of all ranks, each rank's in its order
        std::vector<int> level;
        int most = 0; // bytes of the longest
        bool blocking_sends, ready = false;
    };
    struct channel {
        MPI_Comm handle = MPI_COMM_NULL;
        std::vector<int> peers; // world ranks
        int number_of(int world) const { return static_cast<int>(std::ranges::find(peers, world) - peers.begin()); }
    };
    /// Memory of a message: bytes side by side, or in pieces of 16 with gaps of 8.
    struct memory {
        static constexpr int piece = 16, stride = 24, fence = 64;
        static constexpr char untouched = 0x5e;
        bool gaps;
        int bytes;
        bytes_of all;

        memory(int size, bool with_gaps)
            : gaps{with_gaps && size % piece == 0}, bytes{size},
              all(static_cast<std::size_t>((gaps ? size / piece * stride : size) + fence), untouched) {}
        template <class F> void each(int n, F f) const { // f(place, place in a row, length)
            if (!gaps) return f(0, 0, n);
            for (int at = 0; at < n; at += piece) f(at / piece * stride, at, std::min(piece, n - at));
        }
        void fill(char const* from) {
            each(bytes, [&](int at, int k, int n) {
                std::memcpy(&all[static_cast<std::size_t>(at)], from + k, static_cast<std::size_t>(n));
            });
        }
        /// It holds n bytes of `what`, and nothing else was written.
        bool holds(char const* what, int n) const {
            bool right = true;
            int end = 0;
            each(n, [&](int at, int k, int m) {
                right = right &&
                        (m == 0 || std::memcmp(&all[static_cast<std::size_t>(at)], what + k, static_cast<std::size_t>(m)) == 0);
                for (int i = end; i < at; ++i) right = right && all[static_cast<std::size_t>(i)] == untouched;
                end = at + m;
            });
            auto const rest = std::min(all.size(), static_cast<std::size_t>(end) + fence);
            for (auto i = static_cast<std::size_t>(end); i < rest; ++i) right = right && all[i] == untouched;
            return right;
        }
        /// What lies behind n bytes counts as untouched.
        void clear_from(int n) {
            auto const at = gaps ? n / piece * stride + n % piece : n;
            for (auto i = static_cast<std::size_t>(at); i < all.size(); ++i) all[i] = untouched;
        }
        int count() const { return gaps ? bytes / piece : bytes; }
    };
    struct outgoing {
        message const* m;
        int number;
        memory data;
        int left; // times that it is to be started yet
        MPI_Request request = MPI_REQUEST_NULL;
    };
    struct incoming {
        int number, comm, source, tag;
        memory data;
        bool persistent, keep; // keep: a ready send relies on it
        bool told = false;     // its message is known, and no more to be matched
        MPI_Request request = MPI_REQUEST_NULL;
    };

    int me_ = -1, size_ = 0, round_ = 0, receives_ = 0, sent_ = 0, missing_ = 0;
    dice common_, own_;
    std::vector<int> colors_;
    channel channels_[comms], control_;
    MPI_Datatype pieces_ = MPI_DATATYPE_NULL;
    std::unique_ptr<char[]> buffer_[comms];
    int buffers_ = 0; // 0: one of the process; 1: one of each communicator; 2: MPI's own
    plan now_;
    std::vector<event> record_;
    std::deque<std::unique_ptr<outgoing>> out_;
    std::deque<std::unique_ptr<incoming>> in_;
    std::map<std::tuple<int, int, int>, int> got_; // (comm, source, tag) -> messages
    /// A message is sent and another one received by one request.
    struct exchange {
        outgoing* out;
        incoming* in;
        std::unique_ptr<incoming> nothing; // in place of what is not received
        bool replaces;
        MPI_Request request = MPI_REQUEST_NULL;
    };
    std::vector<message const*> exchanges_; // to be begun yet
    std::deque<exchange> exchanging_;
    std::string faults_;

    void wrong(std::string const& what) {
        if (faults_.size() < 2000)
            faults_ += "rank " + std::to_string(me_) + ", round " + std::to_string(round_) + ": " + what + '\n';
    }
    void must(int code, char const* call) {
        if (code != MPI_SUCCESS) wrong(std::string{call} + " returned " + std::to_string(code));
    }
#define MPT_MUST(CALL) must(CALL, #CALL)

    /// What message `number` holds: its mark, then bytes that differ from message to message.
    static int mark_of(int number) { return number + 1; }
    static int mark_of(char const* data, int bytes) {
        unsigned char b[4] = {};
        std::memcpy(b, data, static_cast<std::size_t>(std::min(bytes, 4)));
        return b[0] | b[1] << 8 | b[2] << 16 | b[3] << 24;
    }
    static bytes_of const& pattern() {
        static bytes_of const all = [] {
            bytes_of v(std::size_t{2} << 20);
            constexpr std::size_t once = 65521;
            dice d{1};
            for (std::size_t i = 0; i < once; ++i) v[i] = static_cast<char>(d.below(256));
            for (auto i = once; i < v.size(); i += once) std::memcpy(&v[i], &v[0], std::min(once, v.size() - i));
            return v;
        }();
        return all;
    }
    static bytes_of body(int mark, int bytes) {
        bytes_of v(static_cast<std::size_t>(bytes) + 4);
        auto const from = static_cast<unsigned>(mark) * 7919u % 65536u;
        std::memcpy(v.data(), &pattern()[from], v.size());
        for (std::size_t i = 0; i < 4; ++i) v[i] = static_cast<char>(mark >> 8 * i);
        return v;
    }

    std::vector<int> peers_of(int rank, int comm) const {
        std::vector<int> all;
        for (int r = 0; r < size_; ++r)
            if (comm < 2 || (comm == 2 ? (r - rank) % 2 != 0
                                       : colors_[static_cast<std::size_t>(r)] == colors_[static_cast<std::size_t>(rank)]))
                all.push_back(comm == 1 ? size_ - 1 - r : r);
        return all;
    }
    /// A copy of the world, its ranks the other way round, even and odd ones as two sides, and a part of it.
    void make_channels() {
        for (int r = 0; r < size_; ++r) colors_.push_back(static_cast<int>(common_.below(2)));
        MPI_Comm part = MPI_COMM_NULL;
        auto const color = colors_[static_cast<std::size_t>(me_)];
        MPT_MUST(MPI_Comm_dup(MPI_COMM_WORLD, &control_.handle));
        MPT_MUST(MPI_Comm_dup(MPI_COMM_WORLD, &channels_[0].handle));
        MPT_MUST(MPI_Comm_split(MPI_COMM_WORLD, 0, -me_, &channels_[1].handle));
        MPT_MUST(MPI_Comm_split(MPI_COMM_WORLD, me_ % 2, me_, &part));
        if (size_ > 1) MPT_MUST(MPI_Intercomm_create(part, 0, control_.handle, 1 - me_ % 2, 1, &channels_[2].handle));
        MPT_MUST(MPI_Comm_free(&part));
        MPT_MUST(MPI_Comm_split(MPI_COMM_WORLD, color, me_, &channels_[3].handle));
        for (int c = 0; c < comms; ++c) channels_[c].peers = peers_of(me_, c);
        MPI_Datatype bytes = MPI_DATATYPE_NULL;
        MPT_MUST(MPI_Type_contiguous(memory::piece, MPI_BYTE, &bytes));
        MPT_MUST(MPI_Type_create_resized(bytes, 0, memory::stride, &pieces_));
        MPT_MUST(MPI_Type_commit(&pieces_));
        MPT_MUST(MPI_Type_free(&bytes));
    }
    /// More than the buffered messages of a round and what they cost.
    static constexpr int buffer_bytes = 1 << 23;
    void attach() {
        buffers_ = own_.one_of({0, 1, 2});
        if (buffers_ == 2) return MPT_MUST(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
        for (int c = 0; c < (buffers_ == 0 ? 1 : comms); ++c) {
            buffer_[c] = std::make_unique_for_overwrite<char[]>(buffer_bytes);
            if (buffers_ == 0) MPT_MUST(MPI_Buffer_attach(buffer_[c].get(), buffer_bytes));
            else if (channels_[c].handle != MPI_COMM_NULL)
                MPT_MUST(MPI_Comm_attach_buffer(channels_[c].handle, buffer_[c].get(), buffer_bytes));
        }
    }
    void flush() {
        if (buffers_ != 1) return MPT_MUST(MPI_Buffer_flush());
        for (auto& c : channels_)
            if (c.handle != MPI_COMM_NULL) MPT_MUST(MPI_Comm_flush_buffer(c.handle));
    }
    void detach() {
        void* was = nullptr;
        int bytes = 0;
        if (buffers_ != 1) return MPT_MUST(MPI_Buffer_detach(&was, &bytes));
        for (auto& c : channels_)
            if (c.handle != MPI_COMM_NULL) MPT_MUST(MPI_Comm_detach_buffer(c.handle, &was, &bytes));
    }

    message drawn(int from, plan& p, bool long_ones) {
        auto& d = common_;
        message m{from, 0, 0, 0, 0, mode::standard, way::started, 1, d.below(4) == 0};
        do m.comm = static_cast<int>(d.below(comms));
        while (peers_of(from, m.comm).empty());
        auto const peers = peers_of(from, m.comm);
        m.to = peers[d.below(static_cast<unsigned>(peers.size()))];
        m.tag = static_cast<int>(d.below(tags));
        m.bytes = d.one_of({0, 1, 3, 8, 16, 17, 31, 48, 49, 256, 2048, 4096, 8192, 32768, 65536});
        if (long_ones && d.below(4) == 0) m.bytes = 1 << 20;
        if (m.bytes > 64 && d.coin()) m.bytes += d.one_of({-16, -1, 1, 16});
        m.in = d.one_of({mode::standard, mode::standard, mode::synchronous, mode::buffered, mode::ready});
        if (m.in == mode::buffered && m.bytes > 70000) m.in = mode::standard;
        switch (d.below(6)) {
        case 0:
            m.by = way::persistent;
            if (d.coin()) m.times = 3, m.tag = late_tag;
            break;
        case 1: m.by = way::exchange, m.tag = late_tag, m.in = mode::standard; break;
        case 2:
        case 3:
            if (p.blocking_sends &&
                (p.level[static_cast<std::size_t>(m.to)] > p.level[static_cast<std::size_t>(from)] || m.in == mode::buffered))
                m.by = way::blocking;
            break;
        default: break;
        }
        if (m.in == mode::ready && m.times > 1) m.in = mode::standard;
        if (m.in == mode::ready) m.tag = ready_tag, p.ready = true;
        return m;
    }
    void draw_round() {
        now_ = {};
        now_.blocking_sends = common_.coin();
        now_.level.resize(static_cast<std::size_t>(size_));
        std::iota(now_.level.begin(), now_.level.end(), 0);
        for (auto i = static_cast<unsigned>(size_); i > 1; --i) std::swap(now_.level[i - 1], now_.level[common_.below(i)]);
        bool const long_ones = common_.below(8) == 0;
        for (int r = 0; r < size_; ++r)
            for (auto n = common_.below(long_ones ? 6 : 24); n > 0; --n) now_.messages.push_back(drawn(r, now_, long_ones));
        missing_ = 0;
        for (auto const& m : now_.messages) {
            now_.most = std::max(now_.most, m.bytes);
            if (m.to == me_) missing_ += m.times;
        }
        for (auto& m : now_.messages) // what is received in place of what is sent may be of any size
            if (m.by == way::exchange && common_.coin()) m.bytes = now_.most;
        record_.clear(), got_.clear(), exchanges_.clear();
        sent_ = receives_ = 0;
    }

    MPI_Datatype type(memory const& m) const { return m.gaps ? pieces_ : MPI_BYTE; }
    static event line(event::kind what, int number, int comm = 0, int peer = 0, int tag = 0) {
        event e;
        e.what = what, e.number = number, e.comm = comm, e.peer = peer, e.tag = tag;
        return e;
    }
    /// Room for whatever may come.
    incoming& expect(int comm, int source, int tag, int room, bool persistent = false, bool keep = false) {
        auto const number = receives_++;
        record_.push_back(line(event::posted, number, comm, source, tag));
        return *in_.emplace_back(new incoming{number, comm, source, tag, memory{room, own_.below(4) == 0}, persistent, keep});
    }
    int wide() const { return (now_.most + 15) / 16 * 16; }
    int source_of(incoming const& i) const { return i.source == any ? MPI_ANY_SOURCE : channels_[i.comm].number_of(i.source); }
    static int tag_of(int tag) { return tag == any ? MPI_ANY_TAG : tag; }

    void post(int comm, int source, int tag, bool keep = false) {
        auto& i = expect(comm, source, tag, wide(), own_.below(4) == 0, keep);
        auto const handle = channels_[comm].handle;
        auto& d = i.data;
        if (!i.persistent)
            return MPT_MUST(MPI_Irecv(d.all.data(), d.count(), type(d), source_of(i), tag_of(tag), handle, &i.request));
        MPT_MUST(MPI_Recv_init(d.all.data(), d.count(), type(d), source_of(i), tag_of(tag), handle, &i.request));
        MPT_MUST(MPI_Start(&i.request));
    }
    void met(incoming& i, MPI_Status const& s) {
        auto e = line(event::got, i.number);
        MPI_Get_count(&s, MPI_BYTE, &e.bytes);
        auto const& peers = channels_[i.comm].peers;
        auto const from = static_cast<std::size_t>(s.MPI_SOURCE);
        e.from = from < peers.size() ? peers[from] : -9, e.told_tag = s.MPI_TAG;
        record_.push_back(e);
        i.told = true;
        ++got_[{i.comm, e.from, e.told_tag}];
        --missing_;
    }
    /// Looks at what has come.
    void check(incoming& i, MPI_Status const& s) {
        auto e = line(event::held, i.number);
        int bytes = 0;
        MPI_Get_count(&s, MPI_BYTE, &bytes);
        if (bytes < 0 || bytes > i.data.bytes)
            return wrong("receive " + std::to_string(i.number) + " got " + std::to_string(bytes) + " bytes");
        e.mark = mark_of(i.data.all.data(), bytes);
        if (!i.data.holds(body(e.mark, bytes).data(), bytes))
            wrong("receive " + std::to_string(i.number) + " holds other bytes than were sent, or more");
        record_.push_back(e);
    }
    void forget(incoming const& i) {
        in_.erase(std::ranges::find_if(in_, [&](auto const& x) { return x.get() == &i; }));
    }
    /// A request of a receive has ended.
    void ended(incoming& i, MPI_Status const& s) {
        int cancelled = 0;
        MPI_Test_cancelled(&s, &cancelled);
        if (cancelled != 0) record_.push_back(line(event::cancelled, i.number));
        else {
            if (!i.told) met(i, s);
            check(i, s);
        }
        if (i.persistent && cancelled == 0 && own_.coin() && in_.size() < 12) { // once more
            std::ranges::fill(i.data.all, memory::untouched);
            i.number = receives_++;
            i.told = i.keep = false;
            record_.push_back(line(event::posted, i.number, i.comm, i.source, i.tag));
            return MPT_MUST(MPI_Start(&i.request));
        }
        if (i.persistent) MPT_MUST(MPI_Request_free(&i.request));
        if (i.request != MPI_REQUEST_NULL) wrong("a request that has ended is not null");
        forget(i);
    }
    void cancel(incoming& i) {
        MPI_Status s;
        MPT_MUST(MPI_Cancel(&i.request));
        MPT_MUST(MPI_Wait(&i.request, &s));
        ended(i, s);
    }

    outgoing& prepared(message const& m) {
        auto& o = *out_.emplace_back(new outgoing{&m, 0, memory{m.bytes, m.gaps}, m.times - 1});
        renew(o);
        return o;
    }
    /// The data of another message in the same memory.
    void renew(outgoing& o) {
        o.number = me_ << 12 | sent_++;
        auto const& m = *o.m;
        auto const data = body(mark_of(o.number), m.bytes);
        o.data.fill(data.data());
        auto e = line(event::sent, o.number, m.comm, m.to, m.tag);
        e.bytes = m.bytes, e.mark = mark_of(data.data(), m.bytes);
        record_.push_back(e);
    }
    void sent(outgoing& o) {
        if (o.m->in == mode::synchronous && o.m->by != way::exchange) record_.push_back(line(event::certain, o.number));
        if (o.left-- > 0) {
            renew(o);
            return MPT_MUST(MPI_Start(&o.request));
        }
        if (o.m->by == way::persistent) MPT_MUST(MPI_Request_free(&o.request));
        out_.erase(std::ranges::find_if(out_, [&](auto const& x) { return x.get() == &o; }));
    }
    void send(message const& m) {
        if (m.by == way::exchange) return exchanges_.push_back(&m);
        auto& o = prepared(m);
        auto const at = static_cast<std::size_t>(m.in);
        auto const& c = channels_[m.comm];
        auto* const data = o.data.all.data();
        auto const n = o.data.count(), to = c.number_of(m.to);
        auto const t = type(o.data);
        if (m.by == way::blocking) {
            static constexpr decltype(&MPI_Send) calls[]{MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
            must(calls[at](data, n, t, to, m.tag, c.handle), "a blocking send");
            std::ranges::fill(o.data.all, 'x');
            return sent(o);
        }
        if (m.by == way::started) {
            static constexpr decltype(&MPI_Isend) calls[]{MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
            return must(calls[at](data, n, t, to, m.tag, c.handle, &o.request), "a started send");
        }
        static constexpr decltype(&MPI_Send_init) calls[]{MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};
        must(calls[at](data, n, t, to, m.tag, c.handle, &o.request), "a persistent send");
        MPT_MUST(MPI_Start(&o.request));
    }

    struct envelope {
        int comm, source, tag;
    };
    envelope any_envelope() {
        envelope e{};
        do e.comm = static_cast<int>(own_.below(comms));
        while (channels_[e.comm].peers.empty());
        auto const& peers = channels_[e.comm].peers;
        e.source = own_.coin() ? any : peers[own_.below(static_cast<unsigned>(peers.size()))];
        e.tag = own_.coin() ? any : static_cast<int>(own_.below(tags + 1));
        return e;
    }
    /// That of a message that was to come once a rank has sent all, or one that takes it too.
    envelope likely_envelope(int comm = any) {
        std::vector<envelope> all;
        for (auto const& m : now_.messages)
            if (m.to == me_ && m.tag != late_tag && both(comm, m.comm)) all.push_back({m.comm, m.from, m.tag});
        if (all.empty()) return {comm == any ? 0 : comm, any, any};
        auto e = all[own_.below(static_cast<unsigned>(all.size()))];
        if (own_.coin()) e.source = any;
        if (own_.coin()) e.tag = any;
        return e;
    }
    static bool both(int a, int b) { return a == any || b == any || a == b; }
    /// A blocking receive of e ends, whatever else happens: more of its messages are under way than others can take.
    bool is_certain(envelope const& e) const {
        int left = 0;
        for (auto const& m : now_.messages)
            left += m.to == me_ && m.comm == e.comm && m.tag != late_tag && both(e.source, m.from) && both(e.tag, m.tag);
        for (auto const& [of, n] : got_) {
            auto const& [comm, from, tag] = of;
            if (comm == e.comm && tag != late_tag && both(e.source, from) && both(e.tag, tag)) left -= n;
        }
        for (auto const& i : in_) left -= !i->told && i->comm == e.comm && both(e.source, i->source) && both(e.tag, i->tag);
        return left > 0;
    }

    /// What a matched probe has taken.
    void take(MPI_Message& m, envelope const& e, MPI_Status s) {
        int bytes = 0;
        MPI_Get_count(&s, MPI_BYTE, &bytes);
        auto& i = expect(e.comm, e.source, e.tag, bytes);
        met(i, s);
        auto& d = i.data;
        if (own_.coin()) return MPT_MUST(MPI_Imrecv(d.all.data(), d.count(), type(d), &m, &i.request));
        MPT_MUST(MPI_Mrecv(d.all.data(), d.count(), type(d), &m, &s));
        ended(i, s);
    }
    void receive(envelope const& e, int room) {
        auto& i = expect(e.comm, e.source, e.tag, room);
        MPI_Status s;
        MPT_MUST(MPI_Recv(i.data.all.data(), i.data.count(), type(i.data), source_of(i), tag_of(e.tag),
                          channels_[e.comm].handle, &s));
        ended(i, s);
    }
    /// What a probe has told of is what the next such receive gets.
    void receive_told(envelope const& e, MPI_Status const& s) {
        auto told = line(event::looked, receives_, e.comm, e.source, e.tag);
        auto const& peers = channels_[e.comm].peers;
        auto const from = static_cast<std::size_t>(s.MPI_SOURCE);
        MPI_Get_count(&s, MPI_BYTE, &told.bytes);
        told.from = from < peers.size() ? peers[from] : -9, told.told_tag = s.MPI_TAG;
        record_.push_back(told);
        receive({e.comm, told.from, told.told_tag}, told.bytes);
    }
    /// Takes a message that is there.
    bool take_one(envelope const& e, bool waits) {
        auto const source = e.source == any ? MPI_ANY_SOURCE : channels_[e.comm].number_of(e.source), tag = tag_of(e.tag);
        auto const comm = channels_[e.comm].handle;
        MPI_Status s;
        int there = 1;
        if (waits && own_.below(3) == 0) return receive(e, wide()), true;
        if (own_.coin()) {
            MPI_Message m = MPI_MESSAGE_NULL;
            if (waits) MPT_MUST(MPI_Mprobe(source, tag, comm, &m, &s));
            else MPT_MUST(MPI_Improbe(source, tag, comm, &there, &m, &s));
            if (there != 0) take(m, e, s);
        } else {
            if (waits) MPT_MUST(MPI_Probe(source, tag, comm, &s));
            else MPT_MUST(MPI_Iprobe(source, tag, comm, &there, &s));
            if (there != 0) receive_told(e, s);
        }
        return there != 0;
    }

    /// Begins one of the exchanges. What it receives is certain to come; else it receives from nobody.
    void exchange_one() {
        auto const& m = *exchanges_.back();
        exchanges_.pop_back();
        auto const e = likely_envelope(m.comm);
        bool const receives = is_certain(e), replaces = own_.coin() && (!receives || m.bytes >= now_.most);
        auto& o = prepared(m);
        auto const room = replaces ? m.bytes : wide();
        exchange x{&o, nullptr, nullptr, replaces};
        if (receives) x.in = &expect(e.comm, e.source, e.tag, room);
        else x.nothing.reset(new incoming{-1, m.comm, 0, 0, memory{room, false}, false, false}), x.in = x.nothing.get();
        if (replaces) x.in->data = o.data;
        auto const level = [this](int r) { return now_.level[static_cast<std::size_t>(r)]; };
        bool const blocks = level(m.to) > level(me_) && own_.coin();
        MPI_Status s;
        call(x, receives ? source_of(*x.in) : MPI_PROC_NULL, tag_of(e.tag), blocks, s);
        if (blocks) end(x, s);
        else exchanging_.push_back(std::move(x));
    }
    void call(exchange& x, int from, int tag, bool blocks, MPI_Status& s) {
        auto const& m = *x.out->m;
        auto const& c = channels_[m.comm];
        auto &o = x.out->data, &i = x.in->data;
        auto const to = c.number_of(m.to);
        auto *const out = o.all.data(), *const in = i.all.data();
        auto const ot = type(o), it = type(i);
        if (x.replaces && blocks) MPT_MUST(MPI_Sendrecv_replace(in, i.count(), it, to, m.tag, from, tag, c.handle, &s));
        else if (x.replaces) MPT_MUST(MPI_Isendrecv_replace(in, i.count(), it, to, m.tag, from, tag, c.handle, &x.request));
        else if (blocks) MPT_MUST(MPI_Sendrecv(out, o.count(), ot, to, m.tag, in, i.count(), it, from, tag, c.handle, &s));
        else MPT_MUST(MPI_Isendrecv(out, o.count(), ot, to, m.tag, in, i.count(), it, from, tag, c.handle, &x.request));
    }
    void end(exchange& x, MPI_Status const& s) {
        int bytes = 0;
        MPI_Get_count(&s, MPI_BYTE, &bytes);
        if (x.replaces) x.in->data.clear_from(bytes); // the rest of what was sent
        sent(*x.out);
        if (!x.nothing) return ended(*x.in, s);
        if (s.MPI_SOURCE != MPI_PROC_NULL || bytes != 0) wrong("an exchange with nobody tells of somebody");
    }
    void test_exchange() {
        if (exchanging_.empty()) return;
        int done = 0;
        MPI_Status s;
        auto const at = exchanging_.begin() + own_.below(static_cast<unsigned>(exchanging_.size()));
        MPT_MUST(MPI_Test(&at->request, &done, &s));
        if (done == 0) return;
        auto x = std::move(*at);
        exchanging_.erase(at);
        end(x, s);
    }

    /// Those of in_ that have a request, or of out_.
    template <class List> auto active(List const& list) {
        std::vector<typename List::value_type::pointer> all;
        for (auto const& x : list)
            if (x->request != MPI_REQUEST_NULL) all.push_back(x.get());
        return all;
    }
    template <class Active> auto one_of(Active const& all) { return all[own_.below(static_cast<unsigned>(all.size()))]; }
    void test_sends() {
        auto const all = active(out_);
        if (all.empty()) return;
        int done = 0;
        auto* const o = one_of(all);
        MPT_MUST(MPI_Test(&o->request, &done, MPI_STATUS_IGNORE));
        if (done != 0) sent(*o);
    }
    void test_receives() {
        auto const all = active(in_);
        if (all.empty()) return;
        auto const n = static_cast<int>(all.size());
        std::vector<MPI_Request> r;
        for (auto const* i : all) r.push_back(i->request);
        std::vector<int> which(all.size());
        std::vector<MPI_Status> s(all.size());
        int done = 0, how_many = 0;
        switch (own_.below(3)) {
        case 0: MPT_MUST(MPI_Testsome(n, r.data(), &how_many, which.data(), s.data())); break;
        case 1:
            MPT_MUST(MPI_Testany(n, r.data(), &which[0], &done, s.data()));
            how_many = done != 0 ? 1 : 0;
            break;
        default:
            which[0] = static_cast<int>(own_.below(static_cast<unsigned>(n)));
            MPT_MUST(MPI_Test(&r[static_cast<std::size_t>(which[0])], &how_many, s.data()));
        }
        for (std::size_t k = 0; k < static_cast<std::size_t>(how_many); ++k) {
            auto const at = static_cast<std::size_t>(which[k]);
            all[at]->request = r[at];
            ended(*all[at], s[k]);
        }
    }
    void cancel_one() {
        auto const all = active(in_);
        if (all.empty()) return;
        if (auto* const i = one_of(all); !i->keep && !i->told) cancel(*i);
    }
    void post_one() {
        if (in_.size() > 9) return;
        auto const e = any_envelope();
        post(e.comm, e.source, e.tag);
    }

    void send_all() {
        for (auto n = own_.below(5); n > 0; --n) post_one();
        for (auto const& m : now_.messages)
            if (m.in == mode::ready && m.to == me_) post(m.comm, m.from, m.tag, true);
        if (now_.ready) MPT_MUST(MPI_Barrier(control_.handle));
        for (auto const& m : now_.messages) {
            if (m.from != me_) continue;
            send(m);
            switch (own_.below(8)) {
            case 0:
            case 1: post_one(); break;
            case 2: take_one(any_envelope(), false); break;
            case 3: test_receives(); break;
            case 4: test_sends(); break;
            default: break;
            }
        }
    }
    void step(bool all_have_sent) {
        switch (own_.below(10)) {
        case 0: test_sends(); return;
        case 1:
        case 2: test_receives(); return;
        case 3: test_exchange(); return;
        case 4:
            if (own_.below(4) == 0) own_.coin() ? cancel_one() : post_one();
            return;
        case 5:
            if (all_have_sent && !exchanges_.empty()) exchange_one();
            return;
        case 6: take_one({any_envelope().comm, any, any}, false); return;
        case 7: take_one(any_envelope(), false); return;
        default:
            if (auto const e = likely_envelope(); channels_[e.comm].handle != MPI_COMM_NULL)
                take_one(e, all_have_sent && is_certain(e));
        }
    }
    bool is_done() const {
        return missing_ <= 0 && exchanges_.empty() && exchanging_.empty() &&
               std::ranges::none_of(in_, [](auto const& i) { return i->told; }) &&
               std::ranges::none_of(out_, [](auto const& o) { return o->left > 0; });
    }
    void take_all() {
        MPI_Request all = MPI_REQUEST_NULL;
        int all_have_sent = 1;
        if (now_.blocking_sends) MPT_MUST(MPI_Ibarrier(control_.handle, &all));
        while (!is_done()) {
            if (all != MPI_REQUEST_NULL) MPT_MUST(MPI_Test(&all, &all_have_sent, MPI_STATUS_IGNORE));
            step(all_have_sent != 0);
        }
        MPT_MUST(MPI_Wait(&all, MPI_STATUS_IGNORE));
        while (!in_.empty()) cancel(*in_.front());
        while (!out_.empty()) {
            auto& o = *out_.front();
            MPT_MUST(MPI_Wait(&o.request, MPI_STATUS_IGNORE));
            sent(o);
        }
        flush();
    }
    /// True, unless something was wrong at any rank.
    bool judge() {
        static_assert(sizeof(event) % sizeof(int) == 0);
        constexpr auto ints = static_cast<int>(sizeof(event) / sizeof(int));
        int const mine = static_cast<int>(record_.size()) * ints;
        std::vector<int> sizes(static_cast<std::size_t>(size_)), places(sizes.size());
        MPT_MUST(MPI_Gather(&mine, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, control_.handle));
        std::exclusive_scan(sizes.begin(), sizes.end(), places.begin(), 0);
        std::vector<event> all(static_cast<std::size_t>((places.back() + sizes.back()) / ints));
        MPT_MUST(
            MPI_Gatherv(record_.data(), mine, MPI_INT, all.data(), sizes.data(), places.data(), MPI_INT, 0, control_.handle));
        if (me_ == 0) {
            mpt::test::history told;
            for (std::size_t r = 0; r < sizes.size(); ++r)
                told.emplace_back(all.begin() + places[r] / ints, all.begin() + (places[r] + sizes[r]) / ints);
            if (mpt::test::matching_oracle const oracle{told}; !oracle.fault().empty()) wrong(oracle.fault());
        }
        int right = faults_.empty() ? 1 : 0;
        MPT_MUST(MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, control_.handle));
        return right != 0;
    }

    static int number_in(int (*asked)(MPI_Comm, int*)) {
        int n = -1;
        asked(MPI_COMM_WORLD, &n);
        return n;
    }

public:
    /// Collective over MPI_COMM_WORLD, as run() is.
    explicit random_messages(unsigned seed)
        : me_{number_in(MPI_Comm_rank)}, size_{number_in(MPI_Comm_size)}, common_{seed},
          own_{seed + 7919u * static_cast<unsigned>(me_ + 1)} {}
    random_messages(random_messages const&) = delete;

    /// What was wrong at this rank, or nothing; messages: how many this rank has sent.
    std::string run(int rounds, long& messages) {
        make_channels();
        attach();
        for (bool right = true; right && round_ < rounds; ++round_) {
            draw_round();
            send_all();
            take_all();
            messages += sent_;
            right = judge();
        }
        detach();
        for (auto& c : channels_)
            if (c.handle != MPI_COMM_NULL) MPT_MUST(MPI_Comm_free(&c.handle));
        MPT_MUST(MPI_Comm_free(&control_.handle));
        MPT_MUST(MPI_Type_free(&pieces_));
        return faults_;
    }
#undef MPT_MUST
};

} // namespace mpt::c::test
