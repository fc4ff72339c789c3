"""What runs in the interpreter of an image: reads a model, computes with it, exports it. One module a family of frameworks.

These files are copied beside a request and need the image's framework, numpy and the standard library; nothing of ours.
"""
