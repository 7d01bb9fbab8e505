// transport::smp beside bare words and slots; what is measured stands in transport_bench.hpp.
#include <mpt/transport/smp.hpp>

#include "transport_bench.hpp"

int main(int argc, char** argv) { return bench::transport_main<mpt::transport::smp<>>(argc, argv); }
