#include "transfer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

// The size that Curlew's buffers have unless told otherwise.
static const long buffer_size = 256 << 10;

static size_t receive(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    struct transfer *transfer = context;
    transfer->bytes += (long long)(size * count);
    return size * count;
}

static size_t send_file(char *buffer, size_t size, size_t count, void *context) {
    struct transfer *transfer = context;
    ssize_t got = pread(transfer->file, buffer, size * count, transfer->position);
    if (got < 0) return CURL_READFUNC_ABORT;
    transfer->position += got;
    transfer->bytes += got;
    return (size_t)got;
}

static bool open_file(struct transfer *transfer, const char *path) {
    struct stat status;
    transfer->file = open(path, O_RDONLY | O_CLOEXEC);
    if (transfer->file < 0 || fstat(transfer->file, &status) != 0) return false;
    curl_easy_setopt(transfer->easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(transfer->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)status.st_size);
    curl_easy_setopt(transfer->easy, CURLOPT_READFUNCTION, send_file);
    curl_easy_setopt(transfer->easy, CURLOPT_READDATA, transfer);
    curl_easy_setopt(transfer->easy, CURLOPT_UPLOAD_BUFFERSIZE, buffer_size);
    // The server is known to take the body; waiting for its leave would measure the wait.
    transfer->fields = curl_slist_append(NULL, "Expect:");
    curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->fields);
    return transfer->fields != NULL;
}

bool transfer_open(struct transfer *transfer, const struct assignment *assignment) {
    *transfer = (struct transfer){.easy = curl_easy_init(), .file = -1};
    if (!transfer->easy) return false;
    curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
    curl_easy_setopt(transfer->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(transfer->easy, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(transfer->easy, CURLOPT_WRITEDATA, transfer);
    if (assignment->anchors_path) curl_easy_setopt(transfer->easy, CURLOPT_CAINFO, assignment->anchors_path);
    if (assignment->is_http3) curl_easy_setopt(transfer->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_3ONLY);
    if (assignment->connections < assignment->concurrency) curl_easy_setopt(transfer->easy, CURLOPT_PIPEWAIT, 1L);
    if (assignment->workload == workload_stream)
        curl_easy_setopt(transfer->easy, CURLOPT_BUFFERSIZE, buffer_size);
    return assignment->workload != workload_upload || open_file(transfer, assignment->file_path);
}

void transfer_prepare(struct transfer *transfer, const char *url) {
    transfer->position = 0;
    curl_easy_setopt(transfer->easy, CURLOPT_URL, url);
}

bool transfer_succeeded(const struct transfer *transfer, CURLcode code) {
    long status = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    return code == CURLE_OK && status == 200;
}

void transfer_close(struct transfer *transfer) {
    if (transfer->easy) curl_easy_cleanup(transfer->easy);
    curl_slist_free_all(transfer->fields);
    if (transfer->file >= 0) close(transfer->file);
}
