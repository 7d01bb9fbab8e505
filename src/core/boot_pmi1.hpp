// PMI-1 as its ranks speak it: lines of text over the socket that a launcher (MPICH's and Intel's hydra, Flux, Slurm's pmi2
// plugin) hands to each rank in PMI_FD, with PMI_RANK and PMI_SIZE beside it. A rank asks, the launcher answers:
//
//   cmd=init pmi_version=1 pmi_subversion=1     cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1
//   cmd=get_maxes                               cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024
//   cmd=get_my_kvsname                          cmd=my_kvsname rc=0 kvsname=NAME
//   cmd=put kvsname=NAME key=K value=V          cmd=put_result rc=0
//   cmd=barrier_in                              cmd=barrier_out             when every rank has asked
//   cmd=get kvsname=NAME key=K                  cmd=get_result rc=0 value=V
//   cmd=finalize                                cmd=finalize_ack rc=0
//   cmd=abort exitcode=N                        no answer: the launcher ends the job
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mpt::inline v0::boot {

/// One line, split: words parted by blanks, each "name=value", the first "cmd=...". A word without '=' is the rest of a value
/// with blanks in it, which only texts for people have, and is left out. Views into the line.
class pmi1_message {
    std::string_view line_;
    explicit pmi1_message(std::string_view line) noexcept : line_{line} {}

public:
    /// Nothing for what is no line of the protocol: another first word, bytes that are not printable ASCII.
    static std::optional<pmi1_message> parse(std::string_view line) noexcept;
    std::string_view command() const noexcept { return *value("cmd"); }
    /// Of two words of one name the first counts.
    std::optional<std::string_view> value(std::string_view name) const noexcept;
    std::optional<std::int64_t> number(std::string_view name) const noexcept;
};

/// A rank's end of the conversation. Every call but abort() and finalize() throws mpt::error(launch), with what was asked and
/// what came, when the launcher refuses, is gone, or answers what is no answer.
class pmi1_line {
    int fd_;
    std::string heard_, store_; // bytes read ahead; the name of the job's key-value store
    std::int64_t longest_key_ = 0, longest_value_ = 0;

public:
    /// Greets the launcher. The descriptor stays open until finalize() or the end of the process, also when this throws: that it
    /// closes tells the launcher that the rank has failed.
    explicit pmi1_line(int fd);

    void put(std::string_view key, std::string_view value);
    std::string get(std::string_view key);
    /// As long as it takes: the others may read their input first.
    void barrier();
    void finalize() noexcept;
    void abort(int code) noexcept;

    int descriptor() const noexcept { return fd_; }
    /// The process at the other end; 0 where it cannot be seen from here.
    std::int32_t launcher() const noexcept;

private:
    std::string ask(std::string_view what, std::string_view answer, std::chrono::milliseconds patience);
    std::string next_line(std::string_view asked, std::chrono::milliseconds patience);
    bool send(std::string_view text) const noexcept;
};

/// The line of this process's job; null where no PMI launcher started it.
std::shared_ptr<pmi1_line> kept_pmi1_line();

} // namespace mpt::inline v0::boot
