// limits - what this machine allows, measured by bare programs of the shapes that ours have (bench/limits.hpp).
//
//     limits [--quick] [--json FILE] [--largest BYTES]
#include "limits.hpp"
#include "report.hpp"
#include "settings.hpp"

namespace {

using namespace bench;

char const* const crossing = "Crossing from core to core, one way";
char const* const plain_copy = "memcpy inside a process";
char const* const waiting = "Giving up the CPU";
char const* const kernel_bytes = "8 bytes through the kernel, one way";

void crossing_rows(crew& c, settings const& s, slot_ring& ring, report& out) {
    auto const two = [&] { return two_lines(c); };
    auto const one = [&] { return one_line(c); };
    auto const own = [&] { return one_line<by_taking_over>(c); };
    auto [two_here, one_here, own_here, two_there, one_there] =
        interleave(c, s.rounds(), two, one, own, wherever(c, two), wherever(c, one));
    slot_rate rate{ring};
    auto slots = measure(c, s.rounds(), [&] { return rate(c); });
    out.add({crossing, "two lines (any ring; the calibration)", 8, "ns", two_here});
    out.add({crossing, "one line (a turn line)", 8, "ns", one_here, "two lines", two_here});
    out.add({crossing, "one line, taken over at every look", 8, "ns", own_here, "two lines", two_here});
    out.add({crossing, "two lines, on 16 pages in turn", 8, "ns", two_there, "best page", two_here});
    out.add({crossing, "one line, on 16 pages in turn", 8, "ns", one_there, "best page", one_here});
    out.add({crossing, "ring of 64-byte slots, rate", 8, "M/s", slots});
}

void memcpy_rows(crew& c, settings const& s, report& out) {
    pages const from{s.largest}, into{s.largest};
    for (std::size_t n : s.sizes(1u << 10)) {
        auto [one, both] = interleave(
            c, s.rounds(n), [&] { return copy_rate(c, into.data(), from.data(), n, 1); },
            [&] { return copy_rate(c, into.data(), from.data(), n, 2); });
        out.add({plain_copy, "one core", n, "GB/s", one});
        out.add({plain_copy, "both cores, sum", n, "GB/s", both, "one core", one});
    }
}

template <class How> void copier_rows(std::string const& name, copier<How>& m, settings const& s, report& out) {
    crew& c = m.who();
    auto const add = [&](std::string const& group, std::size_t n, std::string const& unit, std::array<series, 2> const& both) {
        out.add({group, "receiver alone", n, unit, both[0]});
        out.add({group, "both ends", n, unit, both[1], "alone", both[0]});
    };
    for (std::size_t n : s.sizes(1u << 10))
        add("Ping-pong by " + name + ", half round trip", n, "us",
            interleave(
                c, s.rounds(n), [&] { return exchange(m, n, 1); }, [&] { return exchange(m, n, 2); }));
    for (std::size_t n : s.sizes(16u << 10))
        add("One message by " + name + ", source just rewritten", n, "us",
            interleave(
                c, s.rounds(n), [&] { return delivery(m, n, 1); }, [&] { return delivery(m, n, 2); }));
    for (std::size_t n : s.sizes(1u << 10))
        add("Message after message by " + name, n, "GB/s",
            interleave(
                c, s.rounds(n), [&] { return pull_rate(m, n, 1); }, [&] { return pull_rate(m, n, 2); }));
}

void cma_rows(crew& c, settings const& s, report& out) {
    pages const from{s.largest}, into{s.largest};
    cma_peer const peer = meet_cma_peer(c, from.data(), into.data());
    if (!peer.allowed) return out.skip("process_vm_readv: refused by the kernel");
    copier m{c, by_cma{peer.pid}, peer.buffers};
    copier_rows("CMA", m, s, out);
}

void mapped_rows(crew& c, settings const& s, pages const& memory, report& out) {
    auto const at = [&](int side, std::size_t which) {
        return memory.data() + (static_cast<std::size_t>(side) * 2 + which) * s.largest;
    };
    int const me = c.side(), peer = 1 - me;
    std::memset(at(me, 0), 1, 2 * s.largest); // the owner touches first
    copier m{c, by_mapping{}, reach{at(me, 0), at(me, 1), at(peer, 0), at(peer, 1)}};
    copier_rows("mapped memory", m, s, out);
}

void channel_rows(crew& c, settings const& s, byte_channel& ch, std::string const& name, report& out) {
    ch.set_spinning(true);
    auto spinning = measure(c, s.rounds(), [&] { return ch(c); });
    c.meet();
    ch.set_spinning(false);
    auto sleeping = measure(c, s.rounds(), [&] { return ch(c, 20); });
    out.add({kernel_bytes, name + ", two CPUs, reader spins", 8, "us", spinning});
    out.add({kernel_bytes, name + ", two CPUs, reader sleeps", 8, "us", sleeping});
}

void relay_rows(crew& c, settings const& s, piece_ring& ring, report& out) {
    pages const mine{s.largest};
    relay_rate relay{ring};
    for (std::size_t n : s.sizes(512)) {
        auto taken = measure(c, s.rounds(n), [&] { return relay(c, mine.data(), n); });
        out.add({"Message after message through a ring in shared memory: two copies, overlapping", "both sides copy", n, "GB/s",
                 taken});
    }
}

void on_two_cpus(settings const& s, int a, int b, report& out) {
    pages const slot_memory{sizeof(slot_ring), pages::kind::shared_untouched},
        ring_memory{sizeof(piece_ring), pages::kind::shared_untouched};
    auto& slots = *new (slot_memory.data()) slot_ring{};
    auto& ring = *new (ring_memory.data()) piece_ring{};
    pages const mapped{4 * s.largest, pages::kind::shared_untouched};
    byte_channel pipe{byte_channel::kind::pipe}, socket{byte_channel::kind::unix_socket};
    crew::run({a, b}, [&](crew& c) {
        settle(c);
        crossing_rows(c, s, slots, out);
        memcpy_rows(c, s, out);
        relay_rows(c, s, ring, out);
        mapped_rows(c, s, mapped, out);
        cma_rows(c, s, out);
        channel_rows(c, s, pipe, "pipe", out);
        channel_rows(c, s, socket, "Unix socket", out);
        out.add({waiting, "futex wake of a CPU idle for 200 us", 0, "us",
                 measure(c, s.rounds(), [&] { return futex_wake_idle(c); })});
    });
}

void on_one_cpu(settings const& s, int cpu, report& out) {
    byte_channel pipe{byte_channel::kind::pipe}, socket{byte_channel::kind::unix_socket};
    crew::run({cpu, cpu}, [&](crew& c) {
        auto [yields, hand_over, by_pipe, by_socket] = interleave(
            c, s.uncalibrated(), [&] { return yield_switch(c); }, [&] { return futex_hand_over(c); }, [&] { return pipe(c); },
            [&] { return socket(c); });
        out.add({waiting, "yield to a process of the same CPU", 0, "us", yields});
        out.add({waiting, "futex hand-over on one CPU", 0, "us", hand_over, "yield", yields});
        out.add({kernel_bytes, "pipe, one CPU", 8, "us", by_pipe});
        out.add({kernel_bytes, "Unix socket, one CPU", 8, "us", by_socket});
    });
}

/// A bare counter-and-flag barrier, sides dealt out over the CPUs in turn.
void barrier_row(settings const& s, int sides, std::vector<int> const& cpus, report& out) {
    std::vector<int> place;
    for (int i = 0; i < sides; ++i) place.push_back(cpus[static_cast<std::size_t>(i) % cpus.size()]);
    plan p = cpus.size() > 1 ? s.rounds() : s.uncalibrated();
    crew::run(place, [&](crew& c) {
        if (cpus.size() > 1) settle(c);
        auto taken = measure(c, p, [&] { return bare_barrier(c); });
        out.add({"Bare barrier (counter and flag; who waits yields)",
                 fmt::format("{} processes on {} CPU{}", sides, cpus.size(), cpus.size() > 1 ? "s" : ""), 0, "us", taken});
    });
}

int measure_all(settings const& s) {
    report out{"limits"};
    auto const cores = allowed_cores();
    std::vector<int> two{cores.begin(), cores.begin() + (cores.size() > 1 ? 2 : 1)};
    if (two.size() == 2) on_two_cpus(s, two[0], two[1], out);
    else out.skip("everything between two CPUs: this process may use only one");
    on_one_cpu(s, two[0], out);
    for (int sides : {2, 4, 8, 16})
        if (two.size() == 2) barrier_row(s, sides, two, out);
    barrier_row(s, 8, {two[0]}, out);
    out.print();
    if (!s.json.empty()) out.write_json(s.json);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return measure_all(settings::parse("limits", "what this machine allows", argc, argv));
    } catch (std::exception const& e) {
        fmt::print(stderr, "limits: {}\n", e.what());
        return 1;
    }
}
