package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

var errInconsistent = errors.New("the document does not hold what it says that it holds")

// client makes requests over connections that it keeps.
type client struct {
	http     *http.Client
	request  *http.Request
	workload string
}

func newClient(assignment assignment) (*client, error) {
	request, err := http.NewRequest(http.MethodGet, assignment.url, nil)
	if err != nil {
		return nil, err
	}
	// The others send none here. An empty one is left out.
	request.Header.Set("User-Agent", "")
	transport := &http.Transport{
		// By default two are kept, and each further request in flight opens one that is closed behind it.
		MaxIdleConns:        assignment.connections,
		MaxIdleConnsPerHost: assignment.connections,
		MaxConnsPerHost:     assignment.connections,
		// The others ask for no coding, either.
		DisableCompression: true,
		ForceAttemptHTTP2:  true,
	}
	if assignment.anchorsPath != "" {
		anchors, err := readAnchors(assignment.anchorsPath)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: anchors}
	}
	return &client{&http.Client{Transport: transport}, request, assignment.workload}, nil
}

func readAnchors(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	anchors := x509.NewCertPool()
	if !anchors.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", path)
	}
	return anchors, nil
}

// exchange makes one request and reads its body to the end, so that its connection can be used again.
// It returns the size of what was fetched, as the other clients count it: nothing for JSON.
func (client *client) exchange() (int64, error) {
	// A shallow copy: one request at a time may use one of these.
	response, err := client.http.Do(client.request.WithContext(context.Background()))
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %d", response.StatusCode)
	}
	body, err := collect(response)
	if err != nil {
		return 0, err
	}
	if client.workload == "get" {
		return int64(len(body)), nil
	}
	var found catalogue
	if err := json.Unmarshal(body, &found); err != nil {
		return 0, err
	}
	if !found.isConsistent() {
		return 0, errInconsistent
	}
	return 0, nil
}

// collect reads a body into one buffer, of its size where that is known.
func collect(response *http.Response) ([]byte, error) {
	if response.ContentLength < 0 {
		return io.ReadAll(response.Body)
	}
	body := make([]byte, response.ContentLength)
	if _, err := io.ReadFull(response.Body, body); err != nil {
		return nil, err
	}
	// The end has to be met, too.
	_, err := io.Copy(io.Discard, response.Body)
	return body, err
}
