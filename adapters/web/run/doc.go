// Package run is the section of the web interface with the page of one run and its sub-pages.
package run
