module github.com/whet-dev/whet

go 1.26.0
