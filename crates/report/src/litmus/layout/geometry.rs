//! Points, rectangles and paths. The y axis goes down, as in SVG.

/// A point.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Point {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
}

/// The point with these coordinates.
pub fn point(x: f64, y: f64) -> Point {
    Point { x, y }
}

/// A rectangle.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Rectangle {
    /// The left side.
    pub left: f64,
    /// The upper side.
    pub top: f64,
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
}

impl Rectangle {
    /// The rectangle of this size around a point.
    pub fn around(centre: Point, width: f64, height: f64) -> Self {
        Rectangle {
            left: centre.x - width / 2.0,
            top: centre.y - height / 2.0,
            width,
            height,
        }
    }

    /// The right side.
    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    /// The lower side.
    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// The middle.
    pub fn centre(&self) -> Point {
        point(self.left + self.width / 2.0, self.top + self.height / 2.0)
    }

    /// Larger by `margin` on every side.
    pub fn grown(&self, margin: f64) -> Self {
        Rectangle {
            left: self.left - margin,
            top: self.top - margin,
            width: self.width + 2.0 * margin,
            height: self.height + 2.0 * margin,
        }
    }

    /// Whether both have a point in common that is on no border.
    pub fn overlaps(&self, other: &Rectangle) -> bool {
        self.left < other.right()
            && other.left < self.right()
            && self.top < other.bottom()
            && other.top < self.bottom()
    }

    /// Whether a point is inside, not on the border.
    pub fn contains(&self, point: Point) -> bool {
        (self.left < point.x && point.x < self.right())
            && (self.top < point.y && point.y < self.bottom())
    }
}

/// A part of a path, from where the part before ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Piece {
    /// A straight line.
    Line(Point),
    /// A cubic Bézier curve: two control points and the end.
    Curve(Point, Point, Point),
}

/// A line made of straight and curved pieces.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    /// The first point.
    pub start: Point,
    /// The pieces.
    pub pieces: Vec<Piece>,
}

/// The approximate distance of the points to which a path is flattened.
const RESOLUTION: f64 = 3.0;

impl Path {
    /// Points along the path, near to each other, the first and the last included.
    pub fn points(&self) -> Vec<Point> {
        let mut points = vec![self.start];
        let mut from = self.start;
        for piece in &self.pieces {
            let (reach, end) = match *piece {
                Piece::Line(end) => (distance(from, end), end),
                Piece::Curve(one, two, end) => {
                    let length = distance(from, one) + distance(one, two) + distance(two, end);
                    (length, end)
                }
            };
            let parts = (reach / RESOLUTION).ceil().max(1.0) as usize;
            for part in 1..=parts {
                let t = part as f64 / parts as f64;
                points.push(match *piece {
                    Piece::Line(end) => between(from, end, t),
                    Piece::Curve(one, two, end) => on_curve(from, one, two, end, t),
                });
            }
            from = end;
        }
        points
    }
}

/// The distance between two points.
pub fn distance(one: Point, other: Point) -> f64 {
    let (x, y) = (one.x - other.x, one.y - other.y);
    (x * x + y * y).sqrt()
}

fn between(from: Point, to: Point, t: f64) -> Point {
    point(from.x + (to.x - from.x) * t, from.y + (to.y - from.y) * t)
}

fn on_curve(from: Point, one: Point, two: Point, to: Point, t: f64) -> Point {
    let (a, b, c) = (
        between(from, one, t),
        between(one, two, t),
        between(two, to, t),
    );
    between(between(a, b, t), between(b, c, t), t)
}
