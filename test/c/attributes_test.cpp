// Chapter 7 of the C interface: attributes of communicators and datatypes; chapter 16: their first names.
#include <functional>
#include <stdexcept>

#include "shared.hpp"

namespace {

using mpt::c::test::dup_of;
using mpt::c::test::expect_failure;
using mpt::c::test::expect_ring;
using mpt::c::test::ranks;
using mpt::c::test::thread_of_rank;

void* number(std::intptr_t n) { return reinterpret_cast<void*>(n); }
std::intptr_t number(void* p) { return reinterpret_cast<std::intptr_t>(p); }

/// What a keyval's extra state points at: its callbacks write down what they see, then do what the test wants.
struct diary {
    std::vector<std::intptr_t> copied, deleted;
    std::vector<MPI_Comm> of; // whose attributes were deleted
    std::function<int(MPI_Comm, int)> at_copy = [](auto, auto) { return MPI_SUCCESS; };
    std::function<int(MPI_Comm, int)> at_delete = [](auto, auto) { return MPI_SUCCESS; };

    static int copy(MPI_Comm c, int key, void* extra, void* value, void* into, int* flag) {
        auto& d = *static_cast<diary*>(extra);
        d.copied.push_back(number(value));
        *static_cast<void**>(into) = number(number(value) + 1000);
        *flag = number(value) % 2 == 1; // odd ones are copied
        return d.at_copy(c, key);
    }
    static int remove(MPI_Comm c, int key, void* value, void* extra) {
        auto& d = *static_cast<diary*>(extra);
        d.deleted.push_back(number(value));
        d.of.push_back(c);
        return d.at_delete(c, key);
    }
    int key() {
        int k = MPI_KEYVAL_INVALID;
        EXPECT_EQ(MPI_Comm_create_keyval(copy, remove, &k, this), MPI_SUCCESS);
        return k;
    }
};

std::intptr_t value_of(MPI_Comm c, int key) {
    void* value = number(-1);
    int flag = -1;
    EXPECT_EQ(MPI_Comm_get_attr(c, key, &value, &flag), MPI_SUCCESS);
    return flag ? number(value) : 0;
}

TEST(CAttributes, ValuesAreKeptReplacedAndDeletedWithTheirCallbacks) {
    ranks(1, [](int, int) {
        diary d;
        int const key = d.key();
        EXPECT_EQ(value_of(MPI_COMM_WORLD, key), 0);
        EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, key, number(5)), MPI_SUCCESS);
        EXPECT_EQ(value_of(MPI_COMM_WORLD, key), 5);
        EXPECT_EQ(value_of(MPI_COMM_SELF, key), 0);
        MPI_Comm_set_attr(MPI_COMM_WORLD, key, number(7));
        EXPECT_EQ(d.deleted, (std::vector<std::intptr_t>{5}));
        EXPECT_EQ(value_of(MPI_COMM_WORLD, key), 7);
        EXPECT_EQ(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), MPI_SUCCESS);
        EXPECT_EQ(d.deleted, (std::vector<std::intptr_t>{5, 7}));
        EXPECT_EQ(d.of.back(), MPI_COMM_WORLD);
        EXPECT_EQ(value_of(MPI_COMM_WORLD, key), 0);
        int gone = key;
        EXPECT_EQ(MPI_Comm_free_keyval(&gone), MPI_SUCCESS);
        EXPECT_EQ(gone, MPI_KEYVAL_INVALID);
        void* value = nullptr;
        int flag = 0;
        expect_failure(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag), MPI_ERR_KEYVAL, {"MPI_Comm_get_attr"});
        EXPECT_TRUE(d.copied.empty());
    });
}

TEST(CAttributes, ADupCopiesWhatItsCallbacksGiveAndAFreeDeletesInReverseOrder) {
    ranks(2, [](int, int) {
        diary d;
        int keys[] = {d.key(), d.key(), d.key()}, same = 0, none = 0;
        MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &same, nullptr);
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &none, nullptr);
        auto c = dup_of(MPI_COMM_WORLD);
        for (int i = 0; i < 3; ++i) MPI_Comm_set_attr(c, keys[i], number(i + 1));
        MPI_Comm_set_attr(c, same, number(77));
        MPI_Comm_set_attr(c, none, number(88));
        auto twin = dup_of(c);
        EXPECT_EQ(d.copied, (std::vector<std::intptr_t>{1, 2, 3}));
        EXPECT_EQ(value_of(twin, keys[0]), 1001);
        EXPECT_EQ(value_of(twin, keys[1]), 0);
        EXPECT_EQ(value_of(twin, keys[2]), 1003);
        EXPECT_EQ(value_of(twin, same), 77);
        EXPECT_EQ(value_of(twin, none), 0);
        auto const handle = twin;
        EXPECT_EQ(MPI_Comm_free(&twin), MPI_SUCCESS);
        EXPECT_EQ(d.deleted, (std::vector<std::intptr_t>{1003, 1001}));
        EXPECT_EQ(d.of, (std::vector<MPI_Comm>{handle, handle}));
        for (auto& k : keys) MPI_Comm_free_keyval(&k); // while they are in use
        d.deleted.clear();
        MPI_Comm_free(&c);
        EXPECT_EQ(d.deleted, (std::vector<std::intptr_t>{3, 2, 1}));
        MPI_Comm_free_keyval(&same);
        MPI_Comm_free_keyval(&none);
    });
}

TEST(CAttributes, SplitsInheritNoAttributes) {
    ranks(2, [](int, int) {
        diary d;
        int key = d.key();
        auto c = dup_of(MPI_COMM_WORLD);
        MPI_Comm_set_attr(c, key, number(1));
        MPI_Comm part = MPI_COMM_NULL;
        MPI_Comm_split(c, 0, 0, &part);
        EXPECT_EQ(value_of(part, key), 0);
        EXPECT_TRUE(d.copied.empty());
        MPI_Comm_free(&part);
        MPI_Comm_free(&c);
        MPI_Comm_free_keyval(&key);
    });
}

TEST(CAttributes, ACopyThatFailsInTheMiddleKillsTheNewCommunicator) {
    ranks(2, [](int, int) {
        diary d;
        int first = d.key(), second = d.key(), code = 0;
        MPI_Add_error_code(MPI_ERR_OTHER, &code);
        auto c = dup_of(MPI_COMM_WORLD);
        MPI_Comm_set_attr(c, first, number(1));
        MPI_Comm_set_attr(c, second, number(3));
        d.at_copy = [&](MPI_Comm, int key) { return key == second ? code : MPI_SUCCESS; };
        MPI_Comm twin = MPI_COMM_NULL;
        expect_failure(MPI_Comm_dup(c, &twin), code, {"MPI_Comm_dup", "copy callback", std::to_string(code).c_str()});
        EXPECT_EQ(twin, MPI_COMM_NULL);
        EXPECT_EQ(d.deleted, (std::vector<std::intptr_t>{1001}));
        int size = 0;
        expect_failure(MPI_Comm_size(d.of.front(), &size), MPI_ERR_COMM, {"freed"}); // what was nearly the twin
        EXPECT_EQ(value_of(c, first), 1);
        d.at_copy = [](auto, auto) { return MPI_SUCCESS; };
        twin = dup_of(c); // the library works on
        expect_ring(twin);
        MPI_Comm_free(&twin);
        MPI_Comm_free(&c);
        for (auto* k : {&first, &second}) MPI_Comm_free_keyval(k);
    });
}

TEST(CAttributes, ADeleteThatFailsKeepsTheCommunicator) {
    ranks(1, [](int, int) {
        diary d;
        int key = d.key();
        auto c = dup_of(MPI_COMM_WORLD);
        MPI_Comm_set_attr(c, key, number(1));
        d.at_delete = [](auto, auto) { return MPI_ERR_NAME; };
        auto const handle = c;
        expect_failure(MPI_Comm_free(&c), MPI_ERR_NAME, {"MPI_Comm_free", "delete callback"});
        EXPECT_EQ(c, handle);
        EXPECT_EQ(value_of(c, key), 1);
        d.at_delete = [](auto, auto) { return MPI_SUCCESS; };
        EXPECT_EQ(MPI_Comm_free(&c), MPI_SUCCESS);
        MPI_Comm_free_keyval(&key);
    });
}

TEST(CAttributes, CallbacksMayCallMpiAndThrow) {
    ranks(1, [](int, int) {
        diary d;
        int key = d.key(), other = d.key();
        auto c = dup_of(MPI_COMM_WORLD);
        MPI_Comm_set_attr(c, key, number(1));
        d.at_copy = [&](MPI_Comm from, int) {
            auto inner = dup_of(MPI_COMM_SELF);
            expect_ring(inner);
            MPI_Comm_free(&inner);
            return MPI_Comm_set_attr(from, other, number(9));
        };
        auto twin = dup_of(c);
        EXPECT_EQ(value_of(c, other), 9);
        d.at_copy = [](auto, auto) -> int { throw std::runtime_error{"mine"}; };
        MPI_Comm lost = MPI_COMM_NULL;
        EXPECT_THROW(MPI_Comm_dup(twin, &lost), std::runtime_error);
        d.at_delete = [&](MPI_Comm, int) -> int { throw std::runtime_error{"mine"}; };
        EXPECT_THROW(MPI_Comm_delete_attr(c, key), std::runtime_error);
        EXPECT_EQ(value_of(c, key), 1);
        d.at_delete = [](auto, auto) { return MPI_SUCCESS; };
        for (auto* x : {&c, &twin}) EXPECT_EQ(MPI_Comm_free(x), MPI_SUCCESS);
        for (auto* k : {&key, &other}) MPI_Comm_free_keyval(k);
    });
}

TEST(CAttributes, ThoseOfSelfAreDeletedFirstOfAllAtFinalizeTheLastOneFirst) {
    std::vector<diary> all(3);
    ranks(3, [&](int me, int size) {
        auto& d = all[static_cast<std::size_t>(me)];
        for (int i = 1; i <= 4; ++i) MPI_Comm_set_attr(MPI_COMM_SELF, d.key(), number(i));
        d.at_delete = [me, size](MPI_Comm c, int) {
            int finalized = 1, got = -1;
            MPI_Finalized(&finalized);
            EXPECT_FALSE(finalized);
            EXPECT_EQ(c, MPI_COMM_SELF);
            MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % size, 1, &got, 1, MPI_INT, (me + size - 1) % size, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE); // MPI still works
            EXPECT_EQ(got, (me + size - 1) % size);
            return MPI_SUCCESS;
        };
    });
    for (auto const& d : all) EXPECT_EQ(d.deleted, (std::vector<std::intptr_t>{4, 3, 2, 1}));
}

TEST(CAttributes, PredefinedOnesArePointersToIntegersThatCannotBeChanged) {
    ranks(3, [](int, int size) {
        auto const integer = [](int key) {
            int* value = nullptr;
            int flag = 0;
            EXPECT_EQ(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag), MPI_SUCCESS);
            EXPECT_TRUE(flag) << key;
            return flag ? *value : -12345;
        };
        EXPECT_EQ(integer(MPI_TAG_UB), 2147483647);
        EXPECT_EQ(integer(MPI_HOST), MPI_PROC_NULL);
        EXPECT_EQ(integer(MPI_IO), MPI_ANY_SOURCE);
        EXPECT_EQ(integer(MPI_WTIME_IS_GLOBAL), 1);
        EXPECT_EQ(integer(MPI_APPNUM), 0);
        EXPECT_EQ(integer(MPI_UNIVERSE_SIZE), size);
        EXPECT_EQ(integer(MPI_LASTUSEDCODE), MPI_ERR_LASTCODE);
        int code = 0, key = MPI_TAG_UB;
        MPI_Add_error_class(&code);
        EXPECT_EQ(integer(MPI_LASTUSEDCODE), code);
        expect_failure(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, nullptr), MPI_ERR_KEYVAL, {"key 501", "predefined"});
        expect_failure(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_IO), MPI_ERR_KEYVAL, {"key 502", "predefined"});
        expect_failure(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL, {"key 501", "predefined"});
        int flag = 0;
        expect_failure(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, nullptr, &flag), MPI_ERR_ARG, {"attribute_val"});
        expect_failure(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, nullptr), MPI_ERR_KEYVAL, {"MPI_Comm_set_attr"});
    });
}

int type_copy(MPI_Datatype, int, void*, void*, void*, int* flag) { return *flag = 0, MPI_SUCCESS; }
int type_delete(MPI_Datatype t, int, void* value, void* extra) {
    EXPECT_EQ(t, MPI_INT);
    static_cast<std::vector<void*>*>(extra)->push_back(value);
    return MPI_SUCCESS;
}

TEST(CAttributes, DatatypesHaveKeysOfTheirOwn) {
    ranks(1, [](int, int) {
        std::vector<void*> deleted;
        int key = 0, of_comms = 0, flag = 1;
        void* value = nullptr;
        EXPECT_EQ(MPI_Type_create_keyval(type_copy, type_delete, &key, &deleted), MPI_SUCCESS);
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &of_comms, nullptr);
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &of_comms, nullptr);
        expect_failure(MPI_Type_set_attr(MPI_INT, of_comms, number(1)), MPI_ERR_KEYVAL, {"MPI_Type_set_attr"});
        EXPECT_EQ(MPI_Type_set_attr(MPI_INT, key, number(4)), MPI_SUCCESS);
        EXPECT_EQ(MPI_Type_get_attr(MPI_INT, key, &value, &flag), MPI_SUCCESS);
        EXPECT_TRUE(flag);
        EXPECT_EQ(value, number(4));
        MPI_Type_get_attr(MPI_DOUBLE, key, &value, &flag);
        EXPECT_FALSE(flag);
        EXPECT_EQ(MPI_Type_delete_attr(MPI_INT, key), MPI_SUCCESS);
        EXPECT_EQ(deleted, (std::vector<void*>{number(4)}));
        EXPECT_EQ(MPI_Type_free_keyval(&key), MPI_SUCCESS);
        EXPECT_EQ(key, MPI_KEYVAL_INVALID);
    });
}

TEST(CAttributes, AKeyIsForOneSortOfObject) {
    ranks(1, [](int, int) {
        int of_comm = MPI_KEYVAL_INVALID, of_type = MPI_KEYVAL_INVALID;
        for (int i = 0; i < 5; ++i) {
            MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &of_comm, nullptr);
            MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &of_type, nullptr);
        }
        void* value = nullptr;
        int flag = 0, key = of_type;
        expect_failure(MPI_Comm_set_attr(MPI_COMM_WORLD, of_type, &flag), MPI_ERR_KEYVAL, {std::to_string(of_type).c_str()});
        expect_failure(MPI_Comm_get_attr(MPI_COMM_WORLD, of_type, &value, &flag), MPI_ERR_KEYVAL, {"MPI_Comm_get_attr"});
        expect_failure(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL, {"MPI_Comm_free_keyval"});
        EXPECT_EQ(key, of_type);
        expect_failure(MPI_Type_set_attr(MPI_INT, of_comm, &flag), MPI_ERR_KEYVAL, {std::to_string(of_comm).c_str()});
        expect_failure(MPI_Type_delete_attr(MPI_INT, of_comm), MPI_ERR_KEYVAL, {"MPI_Type_delete_attr"});
        EXPECT_EQ(MPI_Comm_free_keyval(&of_comm), MPI_SUCCESS);
        EXPECT_EQ(MPI_Type_free_keyval(&of_type), MPI_SUCCESS);
    });
}

TEST(CAttributes, TheirFirstNamesStillWork) {
    ranks(1, [](int, int) {
        diary d;
        int key = 0, flag = 0;
        void* value = nullptr;
        EXPECT_EQ(MPI_Keyval_create(diary::copy, diary::remove, &key, &d), MPI_SUCCESS);
        EXPECT_EQ(MPI_Attr_put(MPI_COMM_WORLD, key, number(3)), MPI_SUCCESS);
        EXPECT_EQ(value_of(MPI_COMM_WORLD, key), 3);
        EXPECT_EQ(MPI_Attr_get(MPI_COMM_WORLD, key, &value, &flag), MPI_SUCCESS);
        EXPECT_EQ(value, number(3));
        auto twin = dup_of(MPI_COMM_WORLD);
        EXPECT_EQ(value_of(twin, key), 1003);
        MPI_Comm_free(&twin);
        EXPECT_EQ(MPI_Attr_delete(MPI_COMM_WORLD, key), MPI_SUCCESS);
        EXPECT_EQ(d.deleted, (std::vector<std::intptr_t>{1003, 3}));
        EXPECT_EQ(MPI_Keyval_free(&key), MPI_SUCCESS);
        EXPECT_EQ(key, MPI_KEYVAL_INVALID);
        MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &key, nullptr);
        MPI_Attr_put(MPI_COMM_WORLD, key, number(6));
        twin = dup_of(MPI_COMM_WORLD);
        EXPECT_EQ(value_of(twin, key), 6);
        MPI_Comm_free(&twin);
        MPI_Keyval_free(&key);
    });
}

/// What one thread changes another may ask for, copy and name in an error: every answer is one that was given.
TEST(CAttributes, NamesAndHintsAreSafeBetweenThreads) {
    ranks(1, [](int, int) {
        int const times = 300;
        MPI_Comm c = dup_of(MPI_COMM_WORLD);
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Info hints = MPI_INFO_NULL;
        int key = 0;
        MPI_Type_contiguous(2, MPI_INT, &type);
        MPI_Info_create(&hints);
        MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
        std::string const names[] = {"a name", "another one, which is so long that it lies in memory of its own"};
        MPI_Comm_set_name(c, names[0].c_str());
        MPI_Type_set_name(type, names[0].c_str());
        auto const one_of_both = [&](std::string const& seen) { return seen == names[0] || seen == names[1]; };
        auto const changes = [&](int first) {
            for (int i = first; i < times; ++i) {
                auto const* const name = names[i % 2].c_str();
                EXPECT_EQ(MPI_Comm_set_name(c, name), MPI_SUCCESS);
                EXPECT_EQ(MPI_Type_set_name(type, name), MPI_SUCCESS);
                EXPECT_EQ(MPI_Comm_set_attr(c, key, number(i % 2)), MPI_SUCCESS);
                EXPECT_EQ(MPI_Info_set(hints, "mpi_assert_exact_length", i % 2 != 0 ? "true" : "false"), MPI_SUCCESS);
                EXPECT_EQ(MPI_Comm_set_info(c, hints), MPI_SUCCESS);
                if (i % 16 == 0) { EXPECT_EQ(MPI_Comm_delete_attr(c, key), MPI_SUCCESS); }
            }
        };
        auto const asks = [&] {
            char text[MPI_MAX_OBJECT_NAME] = {};
            for (int i = 0; i < times; ++i) {
                int n = 0, flag = 0;
                void* value = nullptr;
                EXPECT_EQ(MPI_Comm_get_name(c, text, &n), MPI_SUCCESS);
                EXPECT_TRUE(one_of_both(text)) << text;
                EXPECT_EQ(MPI_Type_get_name(type, text, &n), MPI_SUCCESS);
                EXPECT_TRUE(one_of_both(text)) << text;
                EXPECT_EQ(MPI_Comm_get_attr(c, key, &value, &flag), MPI_SUCCESS);
                EXPECT_TRUE(!flag || number(value) == 0 || number(value) == 1);
                EXPECT_EQ(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag), MPI_SUCCESS);
                EXPECT_EQ(*static_cast<int*>(value), MPI_ERR_LASTCODE);
                MPI_Info used = MPI_INFO_NULL;
                EXPECT_EQ(MPI_Comm_get_info(c, &used), MPI_SUCCESS);
                EXPECT_EQ(MPI_Info_free(&used), MPI_SUCCESS);
                EXPECT_EQ(MPI_Send(nullptr, -1, MPI_INT, 0, 0, c), MPI_ERR_COUNT); // the sentence names the communicator
            }
        };
        auto const copies = [&] { // the one thread that calls a collective
            for (int i = 0; i < times / 10; ++i) {
                auto twin = dup_of(c);
                auto const seen = value_of(twin, key);
                EXPECT_TRUE(seen == 0 || seen == 1) << seen;
                MPI_Comm_free(&twin);
            }
        };
        std::vector<std::thread> all;
        all.push_back(thread_of_rank([&] { changes(0); }));
        all.push_back(thread_of_rank([&] { changes(1); }));
        all.push_back(thread_of_rank(asks));
        all.push_back(thread_of_rank(copies));
        for (auto& t : all) t.join();
        MPI_Comm_free_keyval(&key);
        MPI_Info_free(&hints);
        MPI_Type_free(&type);
        MPI_Comm_free(&c);
    });
}

} // namespace
