package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxSize is the size of the largest event that is read, in bytes.
const maxSize = 32 << 20

// read returns the first JSON value of in.
func read(in io.Reader) ([]byte, error) {
	var raw json.RawMessage
	limited := &io.LimitedReader{R: in, N: maxSize}
	err := json.NewDecoder(limited).Decode(&raw)
	switch {
	case err == nil:
		return raw, nil
	case limited.N <= 0:
		return nil, fmt.Errorf("it is larger than %d MiB", maxSize>>20)
	case errors.Is(err, io.EOF):
		return nil, errors.New("standard input is empty; the host must send the event as JSON")
	}
	return nil, fmt.Errorf("not valid JSON: %w", err)
}
