/* MPI and SHMEM in one program: begun and ended in any order, on one engine. The argument says what comes after what:
       S, s   shmem_init, shmem_finalize              W, w   MPI_Init, MPI_Finalize
       M, m   a session of MPI and a communicator of its processes; both freed
       x      messages and puts in turn               t      messages by one thread while another puts */
#include <mpi.h>
#include <pthread.h>

#include "check.h"

enum { turns = 20 };
static long there, total;
static MPI_Comm comm = MPI_COMM_NULL;

static void messages(int turn) {
    int me, n, got = -1;
    MPI_Comm_rank(comm, &me), MPI_Comm_size(comm, &n);
    int const told = 100 * me + turn, next = (me + 1) % n, before = (me + n - 1) % n;
    MPI_Sendrecv(&told, 1, MPI_INT, next, 3, &got, 1, MPI_INT, before, 3, comm, MPI_STATUS_IGNORE);
    EXPECT(got == 100 * before + turn);
    long const mine = told;
    long sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
    EXPECT(sum == (long)n * turn + 100L * n * (n - 1) / 2);
}

static void puts_of(int turn) {
    int const me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    shmem_long_p(&there, turn + me, next);
    shmem_barrier_all();
    EXPECT(there == turn + before);
    shmem_long_atomic_add(&total, turn, 0);
    shmem_barrier_all();
}

static void in_turn(int has_mpi, int has_shmem) {
    for (int turn = 0; turn < turns; turn++) {
        if (has_mpi) messages(turn);
        if (has_shmem) puts_of(turn);
    }
    if (!has_mpi || !has_shmem) return;
    int rank, size, got = 0, me = shmem_my_pe(), n = shmem_n_pes();
    MPI_Comm_rank(comm, &rank), MPI_Comm_size(comm, &size);
    EXPECT(rank == me && size == n);
    /* One waits in MPI while the other is served in SHMEM, and the other way round. */
    if (me == 0 && n > 1) MPI_Recv(&got, 1, MPI_INT, 1, 4, comm, MPI_STATUS_IGNORE);
    if (me == 1) {
        shmem_long_atomic_inc(&total, 0);
        MPI_Send(&me, 1, MPI_INT, 0, 4, comm);
    }
    MPI_Barrier(comm);
    shmem_barrier_all();
}

static void* all_messages(void* unused) {
    (void)unused;
    for (int turn = 0; turn < turns; turn++) messages(turn);
    return NULL;
}
static void by_threads(void) {
    pthread_t other;
    pthread_create(&other, NULL, all_messages, NULL);
    for (int turn = 0; turn < turns; turn++) puts_of(turn);
    pthread_join(other, NULL);
}

static MPI_Session begin_session(void) {
    MPI_Session s;
    MPI_Group all;
    MPI_Info levels;
    MPI_Info_create(&levels);
    MPI_Info_set(levels, "thread_level", "MPI_THREAD_MULTIPLE");
    EXPECT(MPI_Session_init(levels, MPI_ERRORS_RETURN, &s) == MPI_SUCCESS);
    EXPECT(MPI_Group_from_session_pset(s, "mpi://WORLD", &all) == MPI_SUCCESS);
    EXPECT(MPI_Comm_create_from_group(all, "hybrid", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm) == MPI_SUCCESS);
    MPI_Group_free(&all), MPI_Info_free(&levels);
    return s;
}

int main(int argc, char** argv) {
    int wrong = 0, has_shmem = 0, level;
    MPI_Session session = MPI_SESSION_NULL;
    for (char const* step = argc > 1 ? argv[1] : ""; *step; step++) {
        switch (*step) {
        case 'S':
            EXPECT(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) == 0 && level == SHMEM_THREAD_MULTIPLE);
            has_shmem = 1;
            break;
        case 's': shmem_finalize(), has_shmem = 0; break;
        case 'W':
            MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
            EXPECT(level == MPI_THREAD_MULTIPLE);
            comm = MPI_COMM_WORLD;
            break;
        case 'w': MPI_Finalize(), comm = MPI_COMM_NULL; break;
        case 'M': session = begin_session(); break;
        case 'm': EXPECT(MPI_Comm_free(&comm) == MPI_SUCCESS && MPI_Session_finalize(&session) == MPI_SUCCESS); break;
        case 'x': in_turn(comm != MPI_COMM_NULL, has_shmem); break;
        case 't': by_threads(); break;
        default: wrong = 1;
        }
        wrong |= failures != 0;
    }
    return wrong;
}
