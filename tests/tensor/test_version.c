/* The names of statuses and the library's version. */
#include "check.h"

static void names(void **state)
{
    (void)state;
    assert_string_equal(ct_status_name(CT_OK), "CT_OK");
    assert_string_equal(ct_status_name(CT_ESTOPPED), "CT_ESTOPPED");
    assert_string_equal(ct_status_name((ct_status)99), "unknown status");
    for (int s = CT_OK; s <= CT_ESTOPPED; s++) assert_memory_equal(ct_status_name((ct_status)s), "CT_", 3);
}

static void version(void **state)
{
    (void)state;
    char header[32];
    snprintf(header, sizeof header, "%d.%d.%d", CT_VERSION_MAJOR, CT_VERSION_MINOR, CT_VERSION_PATCH);
    assert_string_equal(ct_version(), header);
    assert_string_equal(ct_version(), CT_MESON_VERSION);
    int major = -1, minor = -1, patch = -1;
    assert_int_equal(sscanf(CT_MESON_VERSION, "%d.%d.%d", &major, &minor, &patch), 3);
    assert_int_equal(CT_VERSION, 10000 * major + 100 * minor + patch);
#if CT_VERSION < 100
    fail_msg("the preprocessor compares versions");
#endif
}

/* A build without CUDA says so; NULL opens the best device there is. */
static void cuda_is_refused(void **state)
{
    (void)state;
    ct_device *device = ct_device_open("cuda:0");
    assert_non_null(device);
    if (ct_device_status(device) != CT_OK) {
        bool built = ct_device_status(device) == CT_EDEVICE; /* but no GPU, or no driver */
        assert_true(built || ct_device_status(device) == CT_EUNSUPPORTED);
        assert_non_null(strstr(ct_message(device), "cuda:0: "));
        assert_non_null(strstr(ct_message(device), built ? "or open \"cpu\"" : "open \"cpu\" instead"));
        assert_null(ct_zeros(device, CT_F64, ct_shape1(3)));
    }
    ct_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(version),
        cmocka_unit_test(cuda_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
