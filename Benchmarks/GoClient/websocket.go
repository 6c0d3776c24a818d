package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/gorilla/websocket"
)

// messageSize is the size of every message.
const messageSize = 1024

// webSockets are open WebSockets. Those that are idle have a reader each, as in an application.
type webSockets struct {
	url     string
	message []byte
	all     []*websocket.Conn
	lock    sync.Mutex
}

func newWebSockets(assignment assignment) *webSockets {
	url := "ws" + strings.TrimPrefix(assignment.url, "http")
	return &webSockets{url: url, message: make([]byte, messageSize)}
}

func (sockets *webSockets) open() (*websocket.Conn, error) {
	opened, response, err := websocket.DefaultDialer.Dial(sockets.url, http.Header{})
	if err != nil {
		return nil, err
	}
	response.Body.Close()
	sockets.lock.Lock()
	defer sockets.lock.Unlock()
	sockets.all = append(sockets.all, opened)
	return opened, nil
}

// openAll opens one WebSocket after the other.
func (sockets *webSockets) openAll(count int) error {
	for index := 0; index < count; index++ {
		if _, err := sockets.open(); err != nil {
			return err
		}
	}
	return nil
}

// openIdle opens a WebSocket that waits for messages.
func (sockets *webSockets) openIdle() (int64, error) {
	opened, err := sockets.open()
	if err != nil {
		return 0, err
	}
	go func() {
		for {
			if _, _, err := opened.ReadMessage(); err != nil {
				return
			}
		}
	}()
	return 0, nil
}

// echo sends a message and waits for its echo.
func (sockets *webSockets) echo(used *websocket.Conn) (int64, error) {
	if err := used.WriteMessage(websocket.BinaryMessage, sockets.message); err != nil {
		return 0, err
	}
	_, received, err := used.ReadMessage()
	if err == nil && len(received) != messageSize {
		err = fmt.Errorf("an echo of %d bytes", len(received))
	}
	return int64(len(received)), err
}
