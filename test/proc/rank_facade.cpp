// rank_facade WIRE MODE [arguments]: what a rank does in the tests of the facade. WIRE is smp or stream.
//   ring LAPS                  a token goes round; all add up
//   megabyte ROUNDS            1 MB to the right neighbour, then from everybody to rank 0
//   mixed ROUNDS SEED [MOST]   messages of 0 to 4 MB (or MOST bytes), about every limit of the protocols, sent and received in every way,
//                              and some between layouts
//   refuse-half ROUNDS SEED WHO  the same; in the middle of it the kernel begins to refuse CMA to rank WHO, or to all
//   windows STEPS SEED         random one-sided programs on windows of every sort
//   unmapped                   windows while rank 0 may map no more: told to all ranks; then it may, and they are made
//   detached                   windows with more attachments than their table has places: what is not attached is refused
//   crowded N                  N windows of the program's own memory at once: by a few threads of mpt's
//   scattered SEED             puts, gets and updates of many small runs, in windows of the program's own memory
//   unreadable                 puts from, and gets into, pages of the origin's that are not there: its own error, not the target's
//   hang                       rank 0 waits for a message, the others in a barrier
//   hang-lock                  rank 0 locks its own window and waits in a barrier, the others want the lock
//   greedy MOST                takes up to MOST MB until it is told that there is no more, then goes on
// Exit codes: 6, a sentence of mpt's; 7, something was not as it must be.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/refuse_cma.hpp"
#include "../support/rma_program.hpp"
#include <mpt/mpt.hpp>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {
using namespace mpt;
using data = std::vector<std::byte>;
constexpr std::size_t megabyte_size = 1 << 20;

void must(bool good, std::string_view what) {
    if (!good) throw std::runtime_error{std::string{what}};
}

std::byte byte_at(std::uint64_t seed, std::size_t i) {
    return static_cast<std::byte>((seed + 1 + i) * 0x9e3779b97f4a7c15u >> 56);
}
void fill(std::span<std::byte> s, std::uint64_t seed) {
    for (std::size_t i = 0; i < s.size(); ++i) s[i] = byte_at(seed, i);
}
bool holds(std::span<std::byte const> s, std::uint64_t seed) {
    for (std::size_t i = 0; i < s.size(); ++i)
        if (s[i] != byte_at(seed, i)) return false;
    return true;
}
/// What rank `from` says in a round. Spread out, so that no message looks like a part of another.
std::uint64_t seed_of(std::uint64_t round, int from) {
    return (round << 16 | static_cast<std::uint64_t>(from)) * 0xbf58476d1ce4e5b9u;
}

template <class World> void ring(World world, int laps) {
    int const me = world.rank(), n = world.size();
    int const left = (me - 1 + n) % n, right = (me + 1) % n;
    long token = 0;
    for (int lap = 0; lap < laps; ++lap) {
        if (me == 0 && n > 1) world.send(token + 1, right);
        token = n > 1 ? world.template recv<long>(left) + (me != 0) : token + 1;
        if (me != 0) world.send(token, right);
    }
    must(world.allreduce(me) == n * (n - 1) / 2, "the ranks add up to something else");
    world.broadcast(token, 0);
    must(token == static_cast<long>(laps) * n, "the token lost count");
}

/// out and in have 1 MB each.
template <class World> void megabyte(World world, int rounds, std::span<std::byte> out, std::span<std::byte> in) {
    int const me = world.rank(), n = world.size();
    int const left = (me - 1 + n) % n, right = (me + 1) % n;
    for (int round = 0; round < rounds; ++round) {
        auto const number = static_cast<std::uint64_t>(round);
        fill(out, seed_of(number, me));
        world.sendrecv(out, right, in, left);
        must(holds(in, seed_of(number, left)), "1 MB of the neighbour's is not what it sent");
        world.barrier();
        if (me != 0) world.send(out, 0);
        for (int i = 1; me == 0 && i < n; ++i) {
            auto const m = world.recv(in);
            must(m.bytes == in.size() && holds(in, seed_of(number, m.source)), "1 MB to rank 0 is not what was sent");
        }
        world.barrier();
    }
}

// --- mixed -----------------------------------------------------------------------------------------------------------------

enum class way { posted, sync_posted, blocking, sync_blocking, probed, taken };
struct letter {
    std::size_t size;
    way how;
};

std::size_t largest = 4 * megabyte_size; // of messages: six at once, out and in

/// Every limit of a protocol, its neighbours, and what lies between.
std::size_t draw_size(std::mt19937_64& random) {
    constexpr std::size_t limits[]{0, 40, 1024, 8192, 16384, 32768, 65536, 4 * megabyte_size};
    auto const limit = std::min(limits[random() % std::size(limits)], largest);
    switch (random() % 4) {
    case 0: return limit;
    case 1: return std::min(limit + 1, largest);
    case 2: return limit - std::min<std::size_t>(limit, 1);
    default: return std::min(random() % (std::size_t{2} << random() % 20), largest);
    }
}
std::vector<letter> draw(std::mt19937_64& random) {
    std::vector<letter> letters(1 + random() % 6);
    for (auto& l : letters) l = {draw_size(random), static_cast<way>(random() % 6)};
    return letters;
}
bool is_posted(letter const& l) { return l.how != way::probed && l.how != way::taken; }

/// Letters that are posted have one tag and those that are probed for another, so that their order counts.
mpt::tag tag_of(letter const& l) { return is_posted(l) ? 1 : 2; }

/// Everybody sends the same kinds of letters `shift` ranks on. `meanwhile` is called while they are under way.
template <class World, class F>
void exchange(World world, std::vector<letter> const& letters, std::uint64_t round, int shift, F&& meanwhile) {
    int const me = world.rank(), n = world.size(), to = (me + shift) % n, from = (me - shift + n) % n;
    std::vector<data> out(letters.size()), in(letters.size());
    std::vector<typename World::request> pending;
    for (std::size_t i = 0; i < letters.size(); ++i) {
        out[i].resize(letters[i].size);
        fill(out[i], seed_of(round * 8 + i, me));
        if (!is_posted(letters[i])) continue;
        in[i].resize(letters[i].size);
        pending.push_back(world.irecv(in[i], from, tag_of(letters[i])));
    }
    for (std::size_t i = 0; i < letters.size(); ++i) {
        auto const t = tag_of(letters[i]);
        switch (letters[i].how) {
        case way::blocking: world.send(out[i], to, t); break;
        case way::sync_blocking: world.ssend(out[i], to, t); break;
        case way::sync_posted: pending.push_back(world.issend(out[i], to, t)); break;
        case way::posted:
        case way::probed:
        case way::taken: pending.push_back(world.isend(out[i], to, t)); break;
        }
    }
    meanwhile();
    for (std::size_t i = 0; i < letters.size(); ++i) {
        auto const& l = letters[i];
        if (l.how == way::probed) {
            must(world.probe(from, tag_of(l)).bytes == l.size, "probe told another size");
            in[i] = world.template recv<data>(from, tag_of(l));
        } else if (l.how == way::taken) in[i] = world.mprobe(from, tag_of(l)).template recv<data>();
    }
    wait_all(pending);
    for (std::size_t i = 0; i < letters.size(); ++i)
        must(in[i].size() == letters[i].size && holds(in[i], seed_of(round * 8 + i, from)),
             "round " + std::to_string(round) + ", " + std::to_string(letters[i].size) + " bytes: not what was sent");
}

/// Blocks of one length, with gaps that are all alike, or not.
struct blocks {
    std::int64_t count, length;
    bool even;

    static blocks draw(std::mt19937_64& random, std::int64_t bytes) {
        constexpr std::int64_t lengths[]{16, 600, 4096, 10'000};
        auto const length = lengths[random() % std::size(lengths)];
        return {bytes / length + 1, length, random() % 2 == 0};
    }
    std::int64_t bytes() const { return count * length; }
    std::int64_t at(std::int64_t i) const { return i * (length + 40) + (even ? 0 : i % 3 * 8); }
    datatype type() const {
        std::vector<std::int64_t> const lengths(static_cast<std::size_t>(count), length);
        std::vector<std::int64_t> places;
        for (std::int64_t i = 0; i < count; ++i) places.push_back(at(i));
        return datatype::hindexed(lengths, places, datatype::named(element_kind::byte));
    }
    data memory() const { return data(static_cast<std::size_t>(at(count))); }
    /// f(byte, its number in the message), for the first n.
    void each(data& memory, std::int64_t n, auto&& f) const {
        for (std::int64_t i = 0; i < n; ++i)
            f(memory[static_cast<std::size_t>(at(i / length) + i % length)], static_cast<std::size_t>(i));
    }
};

/// A message whose places are others on each side. All ranks draw the same.
template <class World> void layouts(World world, std::mt19937_64& random, std::uint64_t round) {
    int const n = world.size(), to = (world.rank() + 1) % n, from = (world.rank() - 1 + n) % n;
    auto const size = static_cast<std::int64_t>(std::min(draw_size(random), megabyte_size));
    auto const mine = blocks::draw(random, size), theirs = blocks::draw(random, mine.bytes());
    auto out = mine.memory(), in = theirs.memory();
    mine.each(out, mine.bytes(), [&](std::byte& b, std::size_t i) { b = byte_at(seed_of(round, world.rank()), i); });
    typed_source const source{out.data(), 1, mine.type()};
    typed_sink sink{in.data(), 1, theirs.type()};
    auto receive = world.irecv(sink, from, 3);
    auto send = world.isend(source, to, 3);
    must(receive.wait().bytes == static_cast<std::uint64_t>(mine.bytes()), "a layout of another size came");
    send.wait();
    theirs.each(in, mine.bytes(), [&](std::byte const& b, std::size_t i) {
        must(b == byte_at(seed_of(round, from), i), "a layout brought something else");
    });
}

template <class World, class F> void mixed(World world, std::uint64_t rounds, std::uint64_t seed, F&& half_way) {
    std::mt19937_64 random{seed}; // all ranks draw the same
    for (std::uint64_t round = 0; round < rounds; ++round) {
        auto const letters = draw(random);
        auto const shift = static_cast<int>(random() % static_cast<std::uint64_t>(world.size()));
        exchange(world, letters, round, shift, [&] {
            if (round == rounds / 2) half_way();
        });
        data out(letters[0].size), in(letters[0].size);
        int const n = world.size(), to = (world.rank() + 1) % n, from = (world.rank() - 1 + n) % n;
        fill(out, seed_of(round, world.rank()));
        world.sendrecv(out, to, in, from);
        must(holds(in, seed_of(round, from)), "sendrecv brought something else");
        layouts(world, random, round);
        world.barrier();
        must(world.allreduce(std::uint64_t{1} << world.rank().value) == (std::uint64_t{1} << n) - 1, "allreduce lost a rank");
    }
}

void refuse() {
    must(test::refuse_cma(EPERM), "no filter can be set");
    char from = 1, into = 0;
    iovec const local{&into, 1}, remote{&from, 1};
    must(::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == -1 && errno == EPERM, "the filter does not refuse");
}

// --- greedy ----------------------------------------------------------------------------------------------------------------

/// What an error says of memory that there is not: always with numbers.
std::string sentence(error const& e) {
    std::string const what = e.what();
    must(e.code() == errc::no_memory, "not an error of memory: " + what);
    must(what.find_first_of("0123456789") != what.npos, "no numbers: " + what);
    return what;
}

/// Takes and touches memory until there is no more, or `most` bytes. What was said at last; nothing: all was there.
template <class Environment> std::string take(Environment& env, std::size_t most, std::vector<std::span<std::byte>>& held) {
    std::string said;
    for (std::size_t const piece : {megabyte_size, std::size_t{64} << 10, std::size_t{4} << 10}) try {
            for (said.clear(); most >= piece; most -= piece) {
                held.push_back(env.template allocate<std::byte>(piece));
                fill(held.back(), 1);
            }
        } catch (error const& e) { said = sentence(e); }
    return said;
}

/// Requests are the library's memory: posts receives until there is no more, and withdraws them all. What was said at last.
template <class World> std::string post(World world, std::vector<typename World::request>& posted) {
    int nowhere = 0;
    std::string said;
    try {
        while (posted.size() < posted.capacity())
            posted.push_back(world.irecv(nowhere, any_source, 100 + static_cast<int>(posted.size())));
    } catch (error const& e) { said = sentence(e); }
    for (auto& r : posted) r.cancel();
    for (auto& r : posted) must(r.wait().cancelled, "a receive that nobody sent to is not cancelled");
    posted.clear();
    return said;
}

template <class Environment> void greedy(Environment& env, std::size_t most) {
    auto const world = env.world();
    int const me = world.rank(), n = world.size();
    data out(megabyte_size), in(megabyte_size);
    std::vector<std::span<std::byte>> held;
    std::vector<typename Environment::view::request> posted;
    posted.reserve(20'000), held.reserve(10'000);
    megabyte(world, 1, out, in);

    try {
        static_cast<void>(env.template allocate<std::byte>(std::size_t{1} << 36));
        must(false, "64 GB were there");
    } catch (error const& e) { std::printf("rank %d: %s\n", me, sentence(e).c_str()); }
    for (int turn = 0; turn < n; ++turn) {
        if (turn == me) {
            auto const user = take(env, most, held), library = post(world, posted);
            std::printf("rank %d: held: %s; posted: %s\n", me, user.empty() ? "all" : user.c_str(),
                        library.empty() ? "all" : library.c_str());
        }
        world.barrier();
    }

    ring(world, 10);
    megabyte(world, 2, out, in); // and nothing of it was given back yet
    world.sendrecv(std::span{out}.first(4000), (me + 1) % n, std::span{in}.first(4000), (me - 1 + n) % n);
    for (auto const s : held) must(holds(s, 1), "memory that was handed out changed");
    for (auto const s : held) env.deallocate(s);
    world.barrier();
    fill(env.template allocate<std::byte>(megabyte_size), 2);
    world.barrier();
}

// ---------------------------------------------------------------------------------------------------------------------------

template <class World> void windows(World world, int steps, unsigned seed) {
    for (auto const how : {rma::flavor::create, rma::flavor::allocate, rma::flavor::shared, rma::flavor::dynamic})
        test::rma_program<World>{world, how, ++seed}.run(steps);
}

/// The limit of this process's addresses, as it was when this goes.
class fewer_addresses {
    rlimit before_{};

public:
    /// So many more than are in use.
    explicit fewer_addresses(std::uint64_t more) {
        must(::getrlimit(RLIMIT_AS, &before_) == 0, "no limit can be read");
        std::uint64_t pages = 0;
        std::ifstream{"/proc/self/statm"} >> pages;
        auto now = before_;
        now.rlim_cur = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + more;
        must(pages != 0 && ::setrlimit(RLIMIT_AS, &now) == 0, "no limit can be set");
    }
    ~fewer_addresses() { ::setrlimit(RLIMIT_AS, &before_); }
    fewer_addresses(fewer_addresses const&) = delete;
};

/// Where the slices do not fit this process, each is mapped when it is needed first.
template <class World> void unmapped(World world) {
    auto const attempt = [&](auto const& memory, errc expected) {
        try {
            window w{world, memory};
        } catch (error const& e) {
            must(e.code() == expected, std::string{"an error of another class: "} + e.what());
            std::printf("rank %d: %s\n", world.rank().value, e.what());
            return;
        }
        must(false, "a window was made that rank 0 cannot map");
    };
    std::vector<int> own(8);
    {
        std::optional<fewer_addresses> limit;
        if (world.rank() == 0) limit.emplace(4 * megabyte_size);
        world.barrier();
        attempt(exposed(own), errc::no_memory);
        attempt(allocated<int>(8), errc::no_memory);
        attempt(shared_memory<int>(8), errc::rma_shared);
        attempt(dynamic<int>(), errc::no_memory);
    }
    must(world.allreduce(1) == world.size(), "the communicator is no more");
    window w{world, shared_memory<int>(8)};
    w.fence();
    w.put(world.rank().value, (world.rank() + 1) % world.size());
    w.fence();
    must(w.local()[0] == (world.rank() - 1 + world.size()) % world.size(), "the window does not work");
}

/// Memory of the program's own.
template <class World> void detached(World world) {
    window w{world, dynamic<int>()};
    rank const other = (world.rank() + 1) % world.size();
    std::vector<int> many(400), alone(1, 3);
    for (std::size_t i = 0; i < many.size(); i += 2) w.attach(std::span{many}.subspan(i, 1));
    auto const last = world.allgather(reinterpret_cast<std::uintptr_t>(&many[398]));
    auto const place = world.allgather(reinterpret_cast<std::uintptr_t>(alone.data()));
    auto const of_other = [&](auto const& all) { return static_cast<std::size_t>(all[static_cast<std::size_t>(other.value)]); };
    auto const refused = [&](auto&& f) {
        try {
            f(), w.flush(other);
        } catch (error const& e) { return must(e.code() == errc::rma_range, std::string{"another error: "} + e.what()); }
        must(false, "memory that is not attached was reached");
    };
    {
        auto const held = w.lock_all();
        refused([&] { w.put(9, other, of_other(place)); });
        refused([&] { w.accumulate(9, other, of_other(place)); });
        refused([&] { static_cast<void>(w.value(other, of_other(place))); });
        w.put(5, other, of_other(last)), w.flush(other);
        must(w.value(other, of_other(last)) == 5, "what has no place in the table is not reached");
    }
    world.barrier();
    must(alone[0] == 3 && many[398] == 5, "memory of this rank is not as it must be");
}

int threads_here() {
    std::ifstream status{"/proc/self/status"};
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
    throw std::runtime_error{"the system does not tell how many threads there are"};
}
/// Every rank adds to the next one's number, in each of the windows.
template <class World> void crowded(World world, std::size_t n) {
    int const before = threads_here();
    std::vector<std::vector<int>> own(n, std::vector<int>(1));
    std::vector<decltype(window{world, exposed(own[0])})> all;
    for (auto& o : own) all.emplace_back(world, exposed(o));
    must(threads_here() <= before + 4, "as many windows, as many threads");
    rank const next = (world.rank() + 1) % world.size();
    for (int i = 0; i < 2; ++i)
        for (auto& w : all) {
            auto const held = w.lock(next);
            w.accumulate(1, next);
        }
    world.barrier();
    for (auto const& o : own) must(o[0] == 2, "somebody's number was not counted up");
}

/// Layouts of elements in `room` of them, the places of their elements, packed order: close together, far apart, and any.
struct layout {
    std::string name;
    datatype type;
    std::vector<std::size_t> places;
    std::int64_t count = 1;
};
/// The same from the middle of the room on, to where its displacements are counted.
constexpr std::size_t middle = 300'000;
std::vector<layout> layouts(std::size_t room, std::mt19937& random) {
    datatype const number = datatype::named(element_kind::int64);
    std::vector<layout> all;
    auto const add = [&](std::string name, std::vector<std::int64_t> lengths, std::vector<std::int64_t> displacements) {
        layout l{std::move(name), {}, {}};
        for (std::size_t i = 0; i < lengths.size(); ++i)
            for (std::int64_t k = 0; k < lengths[i]; ++k) l.places.push_back(static_cast<std::size_t>(displacements[i] + k));
        for (auto& d : displacements) d -= std::int64_t{middle};
        l.type = datatype::indexed(lengths, displacements, number);
        all.push_back(l);
        if (*std::max_element(l.places.begin(), l.places.end()) >= middle) return;
        l.name += ", twice", l.count = 2, l.type = datatype::resized(l.type, -8, 8 * middle);
        for (std::size_t i = 0, n = l.places.size(); i < n; ++i) l.places.push_back(l.places[i] + middle);
        all.push_back(std::move(l));
    };
    auto const every = [&](std::int64_t n, std::int64_t length, std::int64_t stride) {
        std::vector<std::int64_t> at(static_cast<std::size_t>(n));
        for (std::int64_t i = 0; i < n; ++i) at[static_cast<std::size_t>(i)] = 5 + i * stride;
        add(std::to_string(n) + " times " + std::to_string(length) + ", " + std::to_string(stride) + " apart",
            std::vector(at.size(), length), at);
    };
    every(2, 3, 40), every(50, 1, 8), every(95, 1, 300), every(96, 2, 300), every(97, 1, 8), every(700, 1, 2),
        every(700, 3, 600);
    every(1300, 1, 400), every(100, 80, 100), every(40, 200, 2000);
    every(30, 64, 128), every(512, 64, 128), every(150, 250, 1000), every(120, 256, 1500); // also what is not so small
    std::vector<std::int64_t> any(room / 8);
    for (std::size_t i = 0; i < any.size(); ++i) any[i] = static_cast<std::int64_t>(8 * i);
    std::shuffle(any.begin(), any.end(), random);
    std::vector<std::int64_t> lengths(any.size());
    for (auto& n : lengths) n = static_cast<std::int64_t>(random() % 8);
    for (std::size_t const n : {std::size_t{30}, std::size_t{600}, any.size()})
        add(std::to_string(n) + " anywhere", {lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(n)},
            {any.begin(), any.begin() + static_cast<std::ptrdiff_t>(n)});
    return all;
}
/// Each rank writes to the next one's memory and reads it again; all else stays as it was. at: where that begins in the window.
template <class World, class Window>
void scattered(World world, Window& w, std::vector<std::int64_t>& own, std::size_t at, unsigned seed) {
    constexpr std::size_t room = 2 * middle;
    std::mt19937 random{seed};
    datatype const number = datatype::named(element_kind::int64);
    rank const next = (world.rank() + 1) % world.size(), before = (world.rank() - 1 + world.size()) % world.size();
    auto const value = [&](rank of, std::size_t i) { return of.value * 1'000'000 + static_cast<std::int64_t>(i) + 1; };
    for (auto const& l : layouts(room, random)) {
        auto const n = l.places.size();
        std::vector<std::int64_t> packed(n), again(n), spread(room, -1);
        for (std::size_t i = 0; i < n; ++i) packed[i] = value(world.rank(), i);
        std::fill(own.begin(), own.end(), -1);
        world.barrier();
        {
            auto const held = w.lock(next, rma::lock_kind::shared);
            w.put({packed.data(), static_cast<std::int64_t>(n), number}, next, {at, l.count, l.type});
            w.flush(next);
            w.get({again.data(), static_cast<std::int64_t>(n), number}, next, {at, l.count, l.type});
            w.get({spread.data() + middle, l.count, l.type}, next, {at, l.count, l.type});
            w.flush(next);
            must(again == packed, l.name + ": not what was put");
            rma::own_source const more{packed.data(), static_cast<std::int64_t>(n), number};
            w.accumulate(more, next, {at, l.count, l.type}, operation::sum);
            w.get_accumulate(more, {again.data(), static_cast<std::int64_t>(n), number}, next, {at, l.count, l.type},
                             operation::sum);
            w.flush(next);
            for (std::size_t i = 0; i < n; ++i) must(again[i] == 2 * packed[i], l.name + ": not what was there");
        }
        world.barrier();
        std::vector<std::int64_t> expected(room, -1), there(room, -1);
        for (std::size_t i = 0; i < n; ++i) expected[l.places[i]] = 3 * value(before, i), there[l.places[i]] = packed[i];
        must(own == expected, l.name + ": memory is not as it must be");
        must(spread == there, l.name + ": what was got is not where it belongs");
        world.barrier();
    }
}
template <class World> void scattered(World world, unsigned seed) {
    std::vector<std::int64_t> own(2 * middle);
    {
        window w{world, exposed(own)};
        scattered(world, w, own, middle, seed);
    }
    window w{world, dynamic<std::int64_t>()};
    w.attach(std::span{own});
    auto const all = world.allgather(reinterpret_cast<std::uintptr_t>(&own[middle]));
    scattered(world, w, own, all[static_cast<std::size_t>((world.rank().value + 1) % world.size())], seed);
    world.barrier();
}

/// Where the kernel copies.
template <class World> void unreadable(World world) {
    constexpr std::size_t n = 8192;
    data own(n, std::byte{3});
    window w{world, exposed(own)};
    rank const other = (world.rank() + 1) % world.size();
    auto const pages = [](int protection) {
        auto* const at = ::mmap(nullptr, n, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(at != MAP_FAILED, "no pages");
        return std::span{static_cast<std::byte*>(at), n};
    };
    auto const refused = [](auto&& f, std::string_view what) {
        try {
            f();
        } catch (error const& e) {
            return must(e.code() == errc::buffer && std::string_view{e.what()}.find(what) != std::string_view::npos,
                        std::string{"another error: "} + e.what());
        }
        must(false, "pages that are not there were moved");
    };
    auto const nothing = pages(PROT_NONE), fixed = pages(PROT_READ);
    {
        auto const held = w.lock_all();
        refused([&] { w.put(std::span<std::byte const>{nothing}, other); }, "cannot be read");
        refused([&] { w.get(nothing, other); }, "cannot be written");
        refused([&] { w.get(fixed, other); }, "cannot be written");
        w.put(std::span<std::byte const>{fixed}, other);
    }
    world.barrier();
    must(own == data(n), "good pages were not moved");
}

template <class World> void hang_in_lock(World world) {
    window w{world, allocated<int>(1)};
    if (world.rank() != 0) world.barrier();
    auto const held = w.lock(0);
    if (world.rank() == 0) world.barrier(), world.barrier();
}

template <class Stack> int run(std::string_view mode, std::vector<std::string> const& arguments) {
    auto const number = [&](std::size_t i) { return std::strtoull(arguments.at(i).c_str(), nullptr, 10); };
    environment<Stack> env;
    auto const world = env.world();
    if (mode == "ring") ring(world, static_cast<int>(number(0)));
    else if (mode == "megabyte") {
        data out(megabyte_size), in(megabyte_size);
        megabyte(world, static_cast<int>(number(0)), out, in);
    } else if (mode == "mixed") {
        if (arguments.size() > 2) largest = number(2);
        mixed(world, number(0), number(1), [] {});
    } else if (mode == "refuse-half")
        mixed(world, number(0), number(1), [&] {
            if (arguments.at(2) == "all" || arguments.at(2) == std::to_string(env.rank().value)) refuse();
        });
    else if (mode == "windows") windows(world, static_cast<int>(number(0)), static_cast<unsigned>(number(1)));
    else if (mode == "unmapped") unmapped(world);
    else if (mode == "detached") detached(world);
    else if (mode == "scattered") scattered(world, static_cast<unsigned>(number(0)));
    else if (mode == "crowded") crowded(world, number(0));
    else if (mode == "unreadable") unreadable(world);
    else if (mode == "hang" && world.rank() == 0) static_cast<void>(world.template recv<long>(1, 7));
    else if (mode == "hang") world.barrier();
    else if (mode == "hang-lock") hang_in_lock(world);
    else if (mode == "greedy") greedy(env, number(0) * megabyte_size);
    else throw std::runtime_error{"no such mode"};
    if (world.rank() == 0) std::printf("%d ranks: %s over %s\n", world.size(), mode.data(), Stack::describe().c_str());
    return 0;
}
} // namespace

int main(int argc, char** argv) {
    if (argc < 3) return std::fprintf(stderr, "usage: rank_facade smp|stream MODE arguments...\n"), 2;
    std::vector<std::string> const arguments(argv + 3, argv + argc);
    try {
        return argv[1] == std::string_view{"stream"} ? run<stream_stack>(argv[2], arguments)
                                                     : run<standard_stack>(argv[2], arguments);
    } catch (error const& e) { return std::fprintf(stderr, "%s\n", e.what()), 6; } catch (std::exception const& e) {
        return std::fprintf(stderr, "rank_facade: %s\n", e.what()), 7;
    }
}
