module github.com/whet-dev/whet

go 1.26.0

require golang.org/x/net v0.62.0

require github.com/yuin/goldmark v1.8.7

require (
	github.com/andybalholm/brotli v1.3.0
	github.com/gogs/chardet v0.0.0-20211120154057-b7413eaefb8f
	github.com/google/go-cmp v0.7.0
	github.com/klauspost/compress v1.20.4
	github.com/nlnwa/whatwg-url v0.6.2
	github.com/temoto/robotstxt v1.1.2
	golang.org/x/text v0.44.0
)

require (
	github.com/andybalholm/cascadia v1.3.5 // indirect
	github.com/bits-and-blooms/bitset v1.20.0 // indirect
)
