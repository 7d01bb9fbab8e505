/// page - what both programs say: their command line, the progress on one line, and the page of numbers at the end.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "water.hpp"

namespace flood {

struct options {
    std::string map, picture;
    storm weather;

    static options parse(int argc, char** argv) {
        if (argc < 3 || argc > 4) throw std::runtime_error{"usage: flood MAP.pgm PICTURE.png [HOURS]"};
        options o{argv[1], argv[2], {}};
        if (argc == 4) o.weather.hours = std::atof(argv[3]);
        if (!(o.weather.hours > 0)) throw std::runtime_error{std::string{"flood: HOURS is a positive number, not "} + argv[3]};
        return o;
    }
};

/// What rank 0 knows from its command line and the map, and tells the others.
struct task {
    int width = 0, height = 0;
    storm weather;
};

inline double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// One line on a terminal, written over and over.
class progress {
    bool shown_ = false;
    double last_ = 0;

public:
    void show(storm const& s, double time, long steps, double deepest) {
        if (!isatty(STDERR_FILENO) || seconds() - last_ < 0.1) return;
        auto const done = static_cast<int>(30 * time / s.end());
        std::fprintf(stderr, "\r[%.*s%*s] %4.1f of %.0f hours, step %ld, deepest water %.2f m ", done,
                     "##############################", 30 - done, "", time / 3600, s.hours, steps, deepest);
        shown_ = true, last_ = seconds();
    }
    ~progress() {
        if (shown_) std::fprintf(stderr, "\r\33[K");
    }
};

/// What one rank counted.
struct tally {
    long steps = 0, messages = 0, bytes = 0;
    double time = 0, communicating = 0;
    double latency = 0, bandwidth = 0; // of ranks 0 and 1: seconds for 8 bytes, bytes a second

    /// So many messages of so many cells.
    void count(long n, long cells) { messages += n, bytes += n * cells * static_cast<long>(sizeof(double)); }
};

/// Half the seconds of a round trip, the best of ten batches.
template <class Trip> double best_of_ten(int rounds, Trip trip) {
    double best = 1e9;
    for (int batch = 0; batch < 10; ++batch) {
        double const start = seconds();
        for (int i = 0; i < rounds; ++i) trip();
        best = std::min(best, (seconds() - start) / rounds / 2);
    }
    return best;
}
inline double per_second(double bytes, double seconds) { return seconds > 0 ? bytes / seconds : 0; }

/// FNV-1a over the bits of all depths: two results are the same, or this differs.
inline std::uint64_t fingerprint(std::vector<double> const& depth) {
    std::uint64_t hash = 14695981039346656037u;
    for (double const d : depth) {
        std::uint64_t bits;
        std::memcpy(&bits, &d, sizeof bits);
        for (int byte = 0; byte < 8; ++byte) hash = (hash ^ (bits >> (8 * byte) & 0xff)) * 1099511628211u;
    }
    return hash;
}

/// all: one tally of each rank.
inline void print_page(options const& o, terrain const& map, std::vector<double> const& depth, std::vector<tally> const& all,
                       int rows, int columns) {
    double deepest = 0, volume = 0, talk = 0;
    long messages = 0, bytes = 0;
    for (double const d : depth) deepest = std::max(deepest, d), volume += d;
    for (auto const& t : all) talk += t.communicating / t.time, messages += t.messages, bytes += t.bytes;
    auto const& me = all.front();
    double const fell = o.weather.rain_mm * std::min(o.weather.hours / o.weather.rain_hours, 1.0);
    std::printf("flood: %d x %d cells, %g hours, %zu ranks (%d x %d)\n", map.width, map.height, o.weather.hours, all.size(),
                rows, columns);
    std::printf("  steps          %ld\n", me.steps);
    std::printf("  time           %.2f s, %.0f us a step\n", me.time, me.time / static_cast<double>(me.steps) * 1e6);
    std::printf("  bytes moved    %.1f MB in %ld messages between neighbours\n", static_cast<double>(bytes) / 1e6, messages);
    std::printf("  communication  %.0f %% of the time, waiting for other ranks and for a CPU included (%u CPUs)\n",
                100 * talk / static_cast<double>(all.size()), std::thread::hardware_concurrency());
    if (me.latency > 0)
        std::printf("  between two    8 bytes in %.2f us, 1 MB at %.1f GB/s\n", me.latency * 1e6, me.bandwidth / 1e9);
    std::printf("  water          %.0f mm of rain fell, %.0f mm are still on the map, at most %.2f m deep\n", fell,
                volume / static_cast<double>(depth.size()) * 1000, deepest);
    std::printf("  fingerprint    %016llx\n", static_cast<unsigned long long>(fingerprint(depth)));
    std::printf("  picture        %s\n", o.picture.c_str());
}

} // namespace flood
