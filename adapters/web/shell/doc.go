// Package shell is what all pages of the web interface share: the frame with the navigation, the caller of a request,
// forms that call operations of the API, and small components such as states, times and bars.
package shell
