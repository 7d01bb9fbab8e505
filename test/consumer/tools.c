/* Lists what the tools' interface has, as a tool in plain C would: control variables with their values, performance variables of
   this rank after some work, categories, event types, and the events of that work. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                                            \
    do {                                                                                                                       \
        int const code = (call);                                                                                               \
        if (code != MPI_SUCCESS) fprintf(stderr, "%s: code %d\n", #call, code), exit(1);                                       \
    } while (0)

enum { SHORT = 10, BIG = 1 << 20, ROOM = 256 };
static int events;

static void count(MPI_T_event_instance event, MPI_T_event_registration from, MPI_T_cb_safety safety, void* user_data) {
    MPI_Count when = 0;
    (void)from, (void)safety;
    CHECK(MPI_T_event_get_timestamp(event, &when));
    events += when >= *(MPI_Count*)user_data;
}

static void list_cvars(void) {
    int n;
    CHECK(MPI_T_cvar_get_num(&n));
    for (int i = 0; i < n; ++i) {
        char name[ROOM], word[ROOM];
        int name_len = ROOM, word_len = ROOM, count;
        MPI_Datatype type;
        MPI_T_enum words;
        MPI_T_cvar_handle handle;
        union {
            int place;
            unsigned number;
            unsigned long long size;
            char text[4 * ROOM];
        } value;
        CHECK(MPI_T_cvar_get_info(i, name, &name_len, NULL, &type, &words, NULL, NULL, NULL, NULL));
        CHECK(MPI_T_cvar_handle_alloc(i, NULL, &handle, &count));
        CHECK(MPI_T_cvar_read(handle, &value));
        CHECK(MPI_T_cvar_handle_free(&handle));
        if (words != MPI_T_ENUM_NULL) {
            CHECK(MPI_T_enum_get_item(words, value.place, NULL, word, &word_len));
            printf("cvar %s = %s\n", name, word);
        } else if (type == MPI_UNSIGNED) printf("cvar %s = %u\n", name, value.number);
        else if (type == MPI_CHAR) printf("cvar %s = \"%s\"\n", name, value.text);
        else printf("cvar %s = %llu\n", name, value.size);
    }
}

static void list_pvars(MPI_T_pvar_session session, MPI_T_pvar_handle const* handles, int n) {
    for (int i = 0; i < n; ++i) {
        char name[ROOM];
        int name_len = ROOM;
        MPI_Datatype type;
        union {
            int place;
            unsigned long long number;
            double share;
        } value;
        CHECK(MPI_T_pvar_get_info(i, name, &name_len, NULL, NULL, &type, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        CHECK(MPI_T_pvar_read(session, handles[i], &value));
        if (type == MPI_INT) printf("pvar %s = %d\n", name, value.place);
        else if (type == MPI_DOUBLE) printf("pvar %s = %.9f\n", name, value.share);
        else printf("pvar %s = %llu\n", name, value.number);
    }
}

static void list_names(void) {
    int n;
    CHECK(MPI_T_category_get_num(&n));
    for (int i = 0; i < n; ++i) {
        char name[ROOM], desc[ROOM];
        int name_len = ROOM, desc_len = ROOM, cvars, pvars, categories;
        CHECK(MPI_T_category_get_info(i, name, &name_len, desc, &desc_len, &cvars, &pvars, &categories));
        printf("category %s: %s; %d cvars, %d pvars, %d categories\n", name, desc, cvars, pvars, categories);
    }
    CHECK(MPI_T_event_get_num(&n));
    for (int i = 0; i < n; ++i) {
        char name[ROOM], desc[ROOM];
        int name_len = ROOM, desc_len = ROOM;
        CHECK(MPI_T_event_get_info(i, name, &name_len, NULL, NULL, NULL, NULL, NULL, NULL, desc, &desc_len, NULL));
        printf("event %s: %s\n", name, desc);
    }
}

/* From the last rank to the first: small messages out of order, and a big one. */
static void work(int rank, int size) {
    static char big[BIG];
    for (int i = 0; rank == size - 1 && i < SHORT; ++i) MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
    if (rank == size - 1) MPI_Send(big, BIG, MPI_BYTE, 0, SHORT, MPI_COMM_WORLD);
    for (int i = SHORT, x; rank == 0 && i-- > 0;) MPI_Recv(&x, 1, MPI_INT, size - 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0) MPI_Recv(big, BIG, MPI_BYTE, size - 1, SHORT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
    int provided, rank, size, pvars, unexpected, length;
    MPI_Count begin;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_pvar_session session;
    MPI_T_event_registration registration;
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    CHECK(MPI_T_source_get_timestamp(0, &begin));
    CHECK(MPI_T_event_get_index("mpt_unexpected_message", &unexpected));
    CHECK(MPI_T_event_handle_alloc(unexpected, NULL, MPI_INFO_NULL, &registration));
    CHECK(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, &begin, count));
    CHECK(MPI_T_pvar_get_num(&pvars));
    CHECK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle* const handles = malloc((size_t)pvars * sizeof *handles);
    for (int i = 0; i < pvars; ++i) CHECK(MPI_T_pvar_handle_alloc(session, i, &world, &handles[i], &length));
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    work(rank, size);
    MPI_Comm_rank(world, &rank); /* what waited is told where a call begins */
    if (rank == 0) {
        list_cvars();
        list_pvars(session, handles, pvars);
        list_names();
        printf("events %d\n", events);
    }
    free(handles);
    CHECK(MPI_T_pvar_session_free(&session));
    CHECK(MPI_T_event_handle_free(registration, NULL, NULL));
    MPI_Finalize();
    CHECK(MPI_T_finalize());
    return 0;
}
