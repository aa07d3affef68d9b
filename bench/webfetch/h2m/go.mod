module github.com/whet-dev/whet/bench/webfetch/h2m

go 1.26.0

require github.com/JohannesKaufmann/html-to-markdown/v2 v2.5.2

require (
	github.com/JohannesKaufmann/dom v0.3.1 // indirect
	golang.org/x/net v0.55.0 // indirect
)
