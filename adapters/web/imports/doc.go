// Package imports is the page of the web interface that imports definitions from other products.
//
// The server keeps nothing between the steps: each of them posts the export again, and the answer of the operation
// import-export is the page.
package imports
