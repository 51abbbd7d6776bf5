// Package ui tests the web interface end to end: the real binary, and Chromium where a test needs a browser.
package ui
