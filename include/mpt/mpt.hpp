/// mpt - everything that a C++ program needs: #include <mpt/mpt.hpp>.
#pragma once
#include <mpt/core/error.hpp>
#include <mpt/mpi/communicator.hpp>
#include <mpt/mpi/environment.hpp>
#include <mpt/mpi/insight.hpp>
#include <mpt/mpi/intercommunicator.hpp>
#include <mpt/mpi/local_job.hpp>
#include <mpt/mpi/neighborhood.hpp>
#include <mpt/mpi/request.hpp>
#include <mpt/mpi/session.hpp>
#include <mpt/mpi/window.hpp>
#include <mpt/shmem/environment.hpp>
#include <mpt/stack/standard.hpp>
