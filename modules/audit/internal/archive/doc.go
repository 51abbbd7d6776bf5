// Package archive writes the bundle of the whole chain as a zip in the layout of C2SP tlog-tiles, for tools that do
// not know this product. Its VERIFY.txt lists such tools and how to run them.
//
// Its boundary: it knows the layout of the zip and no store; the caller passes leaves in their order.
package archive
